import { ulid } from 'ulid';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { LostRaceRecord } from '../../shared/ledger/lost-races.ts';
import { readLostRaces } from '../../shared/ledger/lost-races.ts';
import type { EntryRecord } from '../../shared/ledger/reads.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import type { TestBackend } from '../support/backends.ts';
import { ownRedisDatabase } from '../support/own-redis-database.ts';
import { SANDBOX_ACCOUNT, startSandboxFor } from '../support/sandbox-providers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { SENDER, createTestEngine, shippedPolicies, urgentRequest } from '../support/test-engine.ts';
import type { Gate } from './messages.ts';
import { startRacer } from './racer.ts';
import type { Racer } from './racer.ts';

/** Two processes of the product on one database and one queue, with the provider in the test's own process, which counts its calls. */
export interface Arena {
  a: Racer;
  b: Racer;
  sandbox: RunningSandbox;
  queue: QueueBackend;
  now: () => number;
  /** An event id that is known before its notification is accepted, so that gates can be set for it. */
  mint: () => string;
  /** Accepts an intent under that id to a recipient of its own; `script` is what the provider does with it. */
  accept: (eventId: string, channel: 'sms' | 'email', script: unknown[]) => Promise<void>;
  /** Moves the one clock of both processes and of the provider to that instant; it stands still otherwise. */
  moveTo: (at: number) => Promise<void>;
  /** The same gate in both processes. */
  gate: (gate: Gate) => Promise<void>;
  release: () => Promise<void>;
  state: (eventId: string) => Promise<NotificationState>;
  entries: (eventId: string) => Promise<EntryRecord[]>;
  lostRaces: (eventId: string) => Promise<LostRaceRecord[]>;
  /** Calls that the provider had under that attempt key, whatever it answered. */
  calls: (attemptKey: string) => number;
  /** Lets go of what is held, and ends what runs in both processes. */
  stopParts: () => Promise<void>;
  close: () => Promise<void>;
}

const TRANSPORTS = { sms: 'twilio', email: 'resend' } as const;
let line = 0;

const recipientOf = (channel: 'sms' | 'email', number: number): AcceptRequest['recipient'] => ({
  ref: `racer-${number}`, sms: channel === 'sms' ? `+1202555${2_000 + number}` : null, email: `racer-${number}@example.com`, region: 'US', locale: 'en', timeZone: null,
  consent: [{ channel: 'sms', basis: 'consent', reference: 'c' }, { channel: 'email', basis: 'consent', reference: 'c' }],
});

export const openArena = async (backend: TestBackend): Promise<Arena> => {
  const database = await createTestDatabase();
  if (backend.kind === 'postgres') await migrateQueueSchema(database.url, 'tocsin_app');
  const redisUrl = backend.redisUrl ? await ownRedisDatabase(backend.redisUrl) : undefined;
  const keys = generateKeyRingText();
  let at = Date.now();
  const now = (): number => at;
  const sandbox = await startSandboxFor({ now });
  const env = {
    DATABASE_URL: database.url, DATABASE_POOL: '4', ...(redisUrl ? { REDIS_URL: redisUrl } : {}), TOCSIN_KEYS: keys, LOG_LEVEL: 'debug',
    EMAIL_TRANSPORT: TRANSPORTS.email, TWILIO_BASE_URL: sandbox.httpUrl, TWILIO_ACCOUNT_SID: SANDBOX_ACCOUNT.accountSid, TWILIO_AUTH_TOKEN: SANDBOX_ACCOUNT.authToken,
    TWILIO_FROM: SENDER.sms, RESEND_BASE_URL: sandbox.httpUrl, RESEND_API_KEY: SANDBOX_ACCOUNT.resendApiKey, MAIL_FROM: SENDER.email,
  };
  const queue = openQueueBackend({ databaseUrl: database.url, roleName: 'tocsin_app', ...(redisUrl ? { redisUrl } : {}), onError: () => undefined });
  const engine = await createTestEngine({ url: database.url, policies: shippedPolicies(), now, ring: keys, carriers: carriersFor(TRANSPORTS), onEnqueued: () => relay.wake() });
  const relay = createRelay({ ledger: engine.ledger, queue, now, log: engine.log });
  // The processes come last: where something before them fails, none is left behind.
  const [a, b] = await Promise.all([startRacer(env), startRacer(env)]);
  const both = [a, b] as const;
  const onBoth = async (run: (racer: Racer) => Promise<void>): Promise<void> => { await Promise.all(both.map(run)); };

  const moveTo = async (to: number): Promise<void> => {
    at = to;
    await onBoth((racer) => racer.clock(to));
  };
  await moveTo(at);
  return {
    a, b, sandbox, queue, now,
    mint: () => `evt_${ulid(at)}`,
    accept: async (eventId, channel, script) => {
      line += 1;
      const recipient = recipientOf(channel, line);
      const faults = sandbox.setScenario(String(channel === 'sms' ? recipient.sms : recipient.email), script);
      if (faults) throw new Error(JSON.stringify(faults));
      const outcome = await acceptNotification({ ...engine, mint: { ...engine.mint, eventId: () => eventId } }, urgentRequest('00', { recipient, ...(channel === 'email' ? { purpose: 'game-support-routine' } : {}) }));
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    },
    moveTo,
    gate: (gate) => onBoth((racer) => racer.gate(gate)),
    release: () => onBoth((racer) => racer.release()),
    state: async (eventId) => {
      const loaded = await engine.load(eventId);
      if (!loaded) throw new Error(`no ${eventId}`);
      return loaded.state;
    },
    entries: (eventId) => readEntries(engine.db, eventId),
    lostRaces: (eventId) => readLostRaces(engine.db, eventId),
    calls: (attemptKey) => sandbox.messages({ attemptKey }).length + sandbox.refused({ attemptKey }).length,
    stopParts: () => onBoth(async (racer) => {
      racer.signal('SIGCONT');
      await racer.gate();
      await racer.release();
      await racer.stopParts();
    }),
    close: async () => {
      await onBoth((racer) => racer.kill());
      await relay.close();
      await queue.close();
      await engine.close();
      await sandbox.close();
      await database.drop();
    },
  };
};
