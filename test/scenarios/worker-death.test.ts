import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readCarrying } from '../../services/intake/artifact-references.ts';
import { siteAt } from '../../services/intake/page.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import type { TransportChoice } from '../../shared/transports/carriers.ts';
import { expectAnswers } from '../support/answers.ts';
import type { TestBackend } from '../support/backends.ts';
import { describeOnBackends } from '../support/backends.ts';
import { golden, steadied } from '../support/golden.ts';
import { BOTH, storeReport } from '../support/reports.ts';
import { sandboxProviders } from '../support/sandbox-providers.ts';
import { SENDER, urgentRequest } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import type { Told } from './die-at.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
/** When the ledger takes a submission without an answer for unknown. */
const SUBMIT_LIMIT_MS = 15 * SECOND;
const SITE = 'https://tocsin.example.com';
const TRANSPORTS: TransportChoice = { sms: 'twilio', email: 'resend' };
const DELIVERED = [{ submit: 'accept' }, { status: 'delivered', afterMs: 3 * SECOND }];
const PENDING = [{ submit: 'accept' }, { status: 'queued', afterMs: 0 }];

/** The first channel of each, the next one where there is one, and its deadline. */
const PURPOSES = {
  'game-support-urgent': { first: 'sms', next: 'email', deadlineMs: 30 * SECOND },
  'password-reset': { first: 'email', next: 'sms', deadlineMs: 60 * SECOND },
  'seller-order': { first: 'email', next: 'sms', deadlineMs: 90 * SECOND },
  'account-report': { first: 'sms', next: null, deadlineMs: 600 * SECOND },
} as const satisfies Record<string, { first: Channel; next: Channel | null; deadlineMs: number }>;
type Purpose = keyof typeof PURPOSES;

/** What of a death can be seen afterwards: nothing, or a submission of which nobody knows whether it was sent. */
const ENDS = {
  'intake-committed': 'as-if-nothing-had-been', 'outbox-enqueued': 'as-if-nothing-had-been', 'submission-started': 'died-before-the-call',
  'bytes-sent': 'died-after-the-bytes', 'answer-received': 'died-after-the-bytes', 'fallback-claimed': 'claimed-once', 'mid-tick': 'claimed-once',
} as const satisfies Partial<Record<FaultPoint, string>>;
type Point = keyof typeof ENDS;
/** A claim and the end of its tick come after the same append, so one of them is enough. A report has no fallback, for its channels go at once. */
const DEATHS = (Object.keys(PURPOSES) as Purpose[]).flatMap((purpose, row) => (Object.keys(ENDS) as Point[])
  .filter((point) => point !== (PURPOSES[purpose].next === null ? 'fallback-claimed' : 'mid-tick')).map((point, column) => ({ purpose, point, onRedis: (row + column) % 2 === 0 })));

/** Each death costs a process, so each backend has half of them: of every purpose, and of every point. */
const sharedOut = ({ kind }: TestBackend): [Purpose, Point][] =>
  DEATHS.filter(({ onRedis }) => process.env['TOCSIN_TEST_REDIS'] === undefined || onRedis === (kind === 'redis')).map(({ purpose, point }) => [purpose, point]);

describeOnBackends('whose worker is killed with -9', (backend) => {
  let world: World;
  let serial = 0;
  beforeAll(async () => { world = await openWorld({ backend, providerTimeoutMs: 5_000, transports: TRANSPORTS, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12) }); });
  afterAll(async () => {
    waiting?.child.kill('SIGKILL');
    await world.close();
  });

  /** A process that waits to be told; it is slow to start, so the next one starts while the tests go on. */
  const startNext = () => {
    const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('die-at.ts', import.meta.url))], { stdio: ['pipe', 'ignore', 'inherit'] });
    return { child, ended: once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]> };
  };
  let waiting: ReturnType<typeof startNext> | null = null;

  const die = async (point: Point, does: Told['does']): Promise<void> => {
    const { child, ended } = waiting ?? startNext();
    waiting = startNext();
    const told: Told = {
      point, does, url: world.databaseUrl, redisUrl: world.redisUrl, ring: world.keys, now: world.now(), sender: SENDER, transports: TRANSPORTS, providers: sandboxProviders(world.sandbox, TRANSPORTS),
    };
    child.stdin?.end(JSON.stringify(told));
    expect(await ended).toEqual([null, 'SIGKILL']);
  };

  /** A notice of that purpose, to a recipient of its own. */
  const request = async (purpose: Purpose, scripts: Partial<Record<Channel, unknown[]>>): Promise<{ does: Extract<Told['does'], { accept: unknown }>; to: Record<Channel, string> }> => {
    serial += 1;
    const to = { sms: `+1202555${String(6_000 + serial)}`, email: `death-${serial}@example.com` };
    for (const channel of ['sms', 'email'] as const) expect(world.sandbox.setScenario(to[channel], (scripts[channel] ?? DELIVERED) as never)).toBeNull();
    const report = purpose === 'account-report' ? await storeReport(world.engine, Buffer.from(`a report ${serial}`)) : null;
    const duty = (['sms', 'email'] as const).map((channel) => ({ channel, basis: purpose === 'game-support-urgent' ? 'on_call_duty' : 'contract', reference: 'r/1' }));
    const recipient = { ref: `death-${serial}`, ...to, region: 'US', locale: 'en', timeZone: null, consent: report ? BOTH : duty };
    const { variables: ofTicket, ...base } = urgentRequest('00', { purpose, recipient, idempotencyKey: `death-${backend.kind}-${serial}`, requestId: `death-${serial}` });
    const variables: Record<Purpose, Record<string, string>> = {
      'game-support-urgent': { ...ofTicket('evt'), ticket_url: 'http://127.0.0.1:3001/tickets/1' },
      'password-reset': { service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_url: 'https://accounts.example.com/reset/t', reset_code: '481999' },
      'seller-order': { order_id: 'o-1', item: 'a lamp', act_by: '18:30 UTC', order_url: 'https://shop.example.com/o/1' },
      'account-report': { report_title: 'Account report, October' },
    };
    const artifacts = report ? [report.artifactId] : [];
    const fields = { purpose, recipient, variables: variables[purpose], expiresAt: null, artifacts };
    return { to, does: { accept: { ...base, artifacts, fingerprintOf: fields }, variables: variables[purpose], site: SITE } };
  };

  /** Accepts it here, and enqueues nothing. */
  const acceptHere = async ({ accept, variables }: { accept: Omit<AcceptRequest, 'variables'>; variables: Record<string, string> }): Promise<void> => {
    const carrying = accept.artifacts.length === 0 ? { variables: () => variables }
      : await readCarrying(world.engine, accept.fingerprintOf as never, { tenant: accept.tenant, idempotencyKey: accept.idempotencyKey, site: siteAt(SITE) });
    expect(await acceptNotification({ ...world.engine, onEnqueued: () => undefined }, { ...accept, ...carrying })).toMatchObject({ kind: 'accepted' });
  };
  const eventOf = async (requestId: string): Promise<string> => String((await world.ask('SELECT event_id FROM notification WHERE request_id = $1', [requestId]))[0]?.['event_id']);
  /** Nothing of it is under way, but for what a killed worker left so. */
  const isOnItsWay = (eventId: string, killed?: Channel) =>
    world.until(eventId, ({ attempts }) => attempts.every(({ channel, state }) => !['planned', 'queued'].includes(state) && (state !== 'submitting' || channel === killed)));

  const told = async (eventId: string, sorted: boolean): Promise<string> => {
    const state = await world.state(eventId);
    const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
    const sentences = explain(state, (await readEntries(world.engine.db, eventId)).map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) })), policy);
    const steady = steadied(sentences.join('\n'), state.requestedAt).replace(/art_[0-9A-Z]{26}/g, 'art_…').replace(/\b[0-9a-f]{12}\b/g, '…').split('\n');
    // Of two channels that go at once either may be first.
    return `status: ${await world.status(eventId)}\n\n${(sorted ? steady.toSorted() : steady).join('\n')}\n`;
  };

  test.each(sharedOut(backend))('%s, at %s: it ends as it should, with at most one message of each attempt', async (purpose, point) => {
    const { first, next, deadlineMs } = PURPOSES[purpose];
    const claims = ENDS[point] === 'claimed-once';
    const { does, to } = await request(purpose, claims ? { [first]: PENDING } : {});
    if (claims) {
      await acceptHere(does);
      world.relay.wake();
      const eventId = await eventOf(does.accept.requestId);
      await isOnItsWay(eventId);
      await world.advance(deadlineMs - SECOND);
    }
    await world.whileDown(async () => {
      if (claims) {
        world.jump(SECOND);
        return die(point, 'sweep');
      }
      if (point === 'intake-committed') return die(point, does);
      await acceptHere(does);
      return die(point, point === 'outbox-enqueued' ? 'relay' : { deliver: first });
    });
    const eventId = await eventOf(does.accept.requestId);
    const died = ENDS[point].startsWith('died');
    if (died) expect((await world.state(eventId)).attempts.find(({ channel }) => channel === first)?.state).toBe('submitting');
    world.relay.wake();
    await isOnItsWay(eventId, died ? first : undefined);
    if (died) {
      world.jump(SUBMIT_LIMIT_MS);
      await world.coordinator.sweep();
      // The reads that were due by then are made before the clock goes on.
      await world.until(eventId, ({ attempts }) => attempts.every(({ state, nextPollAt }) => state !== 'submitting' && (nextPollAt === null || nextPollAt > world.now())));
    }
    await world.advance(HOUR);
    if ((await world.state(eventId)).settledAt === null) {
      // A report is waited for a day, without a look at each poll of it.
      world.jump(DAY);
      await world.coordinator.sweep();
      await world.advance(HOUR);
    }
    await expectAnswers(world, eventId, `worker-death/${purpose}/${ENDS[point]}`);
    const text = await told(eventId, next === null);
    expect(text).toBe(golden(new URL(`./golden/worker-death/${purpose}/${ENDS[point]}.txt`, import.meta.url), text));
    const unsent = point === 'submission-started' ? 0 : 1;
    const received = { [first]: world.sandbox.messages({ to: to[first] }).length, other: world.sandbox.messages({ to: to[first === 'sms' ? 'email' : 'sms'] }).length };
    const fallback = next === null || claims || (died && (unsent === 0 || first === 'email'));
    expect(received).toEqual({ [first]: unsent, other: fallback ? 1 : 0 });
    const kinds = await world.kinds(eventId);
    expect(kinds.filter((kind) => kind === 'FallbackClaimed').length).toBe(next !== null && fallback ? 1 : 0);
    expect(kinds).toContain('NotificationSettled');
  }, 90_000);

  test('leaves a ledger without a fault, and nothing that was sent twice', async () => {
    const faults = collectFaults();
    await verifyNotifications(world.engine.db, { faults, ring: world.engine.ring });
    expect(faults.list).toEqual([]);
    const keys = world.sandbox.messages().map((message) => message.attempt_key);
    expect(keys.length).toBe(new Set(keys).size);
  });
});
