import { ulid } from 'ulid';
import { handOutPolls } from '../../services/coordinator/hand-out-polls.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createHands } from '../../shared/delivery/hands.ts';
import { noRecent } from '../../shared/delivery/recent.ts';
import { performAttempt, performStarted } from '../../shared/delivery/perform-attempt.ts';
import { pollAttempt } from '../../shared/delivery/poll-attempt.ts';
import { createOriginDesk } from '../../shared/delivery/origin-desk.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import type { Relay } from '../../shared/delivery/relay.ts';
import { releaseWaiting, sweepDecisions } from '../../shared/delivery/sweep.ts';
import { attemptKeyOf } from '../../shared/domain/words.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import type { Seeded } from '../audit/seeded.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import { memoryPort } from './memory-ledger.ts';
import type { SimulatedOrigins } from './origins.ts';
import { simulatedVersions } from './policies.ts';
import type { Process, Surroundings } from './process.ts';
import { call, waitIn } from './process.ts';
import type { SimulatedProvider } from './provider.ts';
import type { SimulatedQueue } from './queue.ts';

export const SUBMIT_START_WITHIN_MS = 2_000;
export const PROVIDER_TIMEOUT_MS = 8_000;
const LEASE_MS = PROVIDER_TIMEOUT_MS * 2 + 5_000;
const ROLES = ['intake', 'intake', 'sms', 'sms', 'email', 'email', 'coordinator', 'coordinator'] as const;

/** A process with the real use cases in it. */
export interface Member { process: Process; engine: Engine; relay: Relay; tick: () => Promise<void> }

export interface FleetSettings {
  around: () => Surroundings;
  ledger: MemoryLedger;
  queue: () => SimulatedQueue;
  provider: () => SimulatedProvider;
  random: Seeded;
  skewOf: (index: number) => number;
  carriers: Engine['carriers'];
  origins: SimulatedOrigins;
}

export interface Fleet {
  readonly members: readonly Member[];
  /** Members of a role that live and run now. */
  up: (role: Process['role']) => Member[];
  kill: (process: Process, restartAfterMs: number) => void;
}

const ring = parseKeyRing(`k1:${Buffer.alloc(32, 7).toString('base64')}`);
const log = createLogger({ level: 'silent', service: 'simulation', redactPaths: [] });
/** Nothing in a simulation may reach for a real database. */
const noDatabase = new Proxy({}, { get: (_, name) => { throw new Error(`the simulation has no database: ${String(name)}`); } }) as Engine['db'];

/** Two processes of every service; a dead one comes back as a new life with nothing in its memory. */
export const createFleet = (settings: FleetSettings): Fleet => {
  const { ledger, random, carriers } = settings;
  const members: Member[] = [];

  const serve = (member: Member): void => {
    const { process, engine } = member;
    const queue = settings.queue();
    const transportOf = (channel: 'sms' | 'email') => settings.provider().transport(process, channel);
    if (process.role === 'sms' || process.role === 'email') {
      const channel = process.role;
      queue.work(channel, {
        process, concurrency: 4, lockMs: PROVIDER_TIMEOUT_MS + SUBMIT_START_WITHIN_MS + 10_000,
        handler: ({ payload }) => performAttempt(engine, attemptKeyOf(String(payload['eventId']), channel, Number(payload['sequence'])), {
          transport: transportOf(channel), submitStartWithinMs: SUBMIT_START_WITHIN_MS, actor: process.name,
        }),
      });
    }
    if (process.role !== 'coordinator') return;
    const transports = new Map((['sms', 'email'] as const).map((channel) => [String(carriers[channel].name), transportOf(channel)]));
    const poll = (attemptKey: string): Promise<void> => pollAttempt(engine, attemptKey, { transports, actor: process.name });
    queue.work('status-poll', { process, concurrency: 4, lockMs: LEASE_MS, handler: async ({ payload }) => {
      await poll(String(payload['attemptKey']));
      return 'done';
    } });
    const queueOf = { addJobs: (name: Parameters<SimulatedQueue['addJobs']>[1], jobs: Parameters<SimulatedQueue['addJobs']>[2]) => queue.addJobs(process, name, jobs) };
    member.tick = async () => {
      await sweepDecisions(engine, process.name);
      await releaseWaiting(engine, process.name);
      await handOutPolls({ engine, queue: queueOf, leaseMs: LEASE_MS, pollHere: poll });
      await engine.ledger.beat('sweep', engine.now());
      member.relay.wake();
    };
  };

  /** Who decides in these has workers at hand, as in the standalone; not always one that is free. */
  const hasHands = ({ role, index }: Process): boolean => (role === 'intake' || role === 'coordinator') && index % 2 === 1;
  const giveHands = ({ process, engine }: Member): void => {
    for (const channel of ['sms', 'email'] as const) {
      let asked = 0;
      engine.hands.serve(channel, {
        provider: carriers[channel].name,
        place: () => {
          asked += 1;
          return asked % 4 === 0 ? null : {
            leave: () => undefined,
            submit: (key, started) => void performStarted(engine, key, started, {
              transport: settings.provider().transport(process, channel), submitStartWithinMs: SUBMIT_START_WITHIN_MS, actor: process.name,
            }),
          };
        },
      });
    }
  };

  const boot = (index: number, life: number): void => {
    const around = settings.around();
    const role = ROLES[index] as Process['role'];
    const process: Process = { name: `${role}-${index % 2}`, role, index, life, alive: true, stoppedUntil: 0, skewMs: settings.skewOf(index), transactions: new Set() };
    const now = (): number => around.scheduler.now + process.skewMs;
    const port = memoryPort(ledger, (boundary, statement) => call(around, process, { boundary }, statement), process.transactions);
    const queue = { addJobs: (name: Parameters<SimulatedQueue['addJobs']>[1], jobs: Parameters<SimulatedQueue['addJobs']>[2]) => settings.queue().addJobs(process, name, jobs) };
    const relay = createRelay({ ledger: port, queue, now, log });
    const engine = createEngine({
      db: noDatabase, ledger: port, versions: simulatedVersions().store, ring, carriers, sender: { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' },
      ...(hasHands(process) ? { hands: createHands(), recent: { ...noRecent, providers: () => ledger.providers } } : {}), log, now, monotonic: () => around.scheduler.now, random: random.next, hostNow: () => around.scheduler.now, wait: (ms) => waitIn(around, process, ms),
      mint: { eventId: (at) => `evt_${ulid(at, random.next)}`, salt: () => 'ab'.repeat(32) }, onEnqueued: () => relay.wake(), onAsked: (question) => desk.ask(question),
    });
    const desk = createOriginDesk({ engine, client: settings.origins.clientOf(process), actor: process.name });
    members[index] = { process, engine, relay, tick: () => Promise.resolve() };
    serve(members[index]);
    if (hasHands(process)) giveHands(members[index]);
  };

  const kill = (process: Process, restartAfterMs: number): void => {
    if (!process.alive) return;
    process.alive = false;
    // The server ends the transactions of a connection that is gone; a stopped process keeps its own.
    for (const transaction of process.transactions) ledger.release(transaction);
    settings.around().scheduler.after(restartAfterMs, () => boot(process.index, process.life + 1));
  };

  return {
    members, kill,
    up: (role) => {
      if (members.length === 0) for (const index of ROLES.keys()) boot(index, 0);
      return members.filter(({ process }) => process.role === role && process.alive && process.stoppedUntil <= settings.around().scheduler.now);
    },
  };
};
