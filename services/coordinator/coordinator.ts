import type { PollRates } from '../../shared/ledger/lease-polls.ts';
import { ensurePartitions } from '../../shared/ledger/partitions.ts';
import { destroyExpired, sweepDrafts } from '../../shared/delivery/artifacts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { pollAttempt } from '../../shared/delivery/poll-attempt.ts';
import type { Relay } from '../../shared/delivery/relay.ts';
import { releaseWaiting, sweepDecisions } from '../../shared/delivery/sweep.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import type { RunningWorker } from '../../shared/queue/work-job.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import type { BounceDuty } from './bounces.ts';
import { startBounceDuty } from './bounces.ts';
import { startAlertDuty } from './alerts.ts';
import type { AlertDuty, AlertSettings } from './alerts.ts';
import { startHeartbeat } from './heartbeat.ts';
import { startCheckpoints } from './checkpoints.ts';
import { startDeadLetterDuty } from './dead-letters.ts';
import { startDueClock } from './due-clock.ts';
import { startErasures } from './erasures.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { createGate } from '../../shared/delivery/gate.ts';
import { startInboundDuty } from './inbound.ts';
import { handOutPolls } from './hand-out-polls.ts';
import { startRetention } from './retention.ts';

export interface CoordinatorSettings {
  engine: Engine;
  queue: QueueBackend;
  relay: Relay;
  transports: readonly Transport[];
  actor: string;
  pollConcurrency: number;
  /** Most status reads of each provider in any second, all coordinators together; without it there is no limit. */
  pollsPerSecond?: PollRates;
  providerTimeoutMs: number;
  /** How often it is read what recipients text back, all coordinators together; without it only when asked to. */
  inboundEveryMs?: number;
  /**
   * Where this is the only coordinator and everything is decided in its process: has every commit's state told to it, so that a due
   * instant costs a timer and no job. Elsewhere ticks come by the queue, so that one coordinator of all takes them.
   */
  onMoved?: (listener: (state: NotificationState) => void) => void;
  /** Where the checkpoints are copied to, outside of the database; without it this coordinator makes none. */
  checkpointFile?: string;
  /** The Maildir that delivery reports come to; without it none is read. */
  bounceMaildir?: string | undefined;
  /** Where erasures are copied to, and taken from after a restore; without it this coordinator knows those of the database alone. */
  erasureFile?: string;
  /** Whom it tells; without it this coordinator looks for nothing that is at risk. */
  alerts?: AlertSettings;
}

export interface Coordinator {
  /** One sweep: due decisions, due polls, the outbox. Resolves when the decisions are committed and the polls handed out. */
  sweep: () => Promise<void>;
  /** Carries out at once what operators asked for, and shows them what waits. */
  attendDeadLetters: () => Promise<void>;
  /** Reads at once what is new in the mailbox of delivery reports. */
  attendBounces: () => Promise<void>;
  /** Reads what recipients texted back, where a read is due. */
  readInbound: () => Promise<void>;
  /** What it does about alerts; null where it tells nobody. */
  alerts: AlertDuty | null;
  close: () => Promise<void>;
}

/** The distance of the repeated tick; an extra one is laid on the next due instant when that comes sooner. */
export const TICK_EVERY_MS = 1_000;
/** How soon a tick comes back for polls that a provider's rate held back. */
const HELD_BACK_MS = 100;
/** A pulse is written no more often than this: under load a sweep follows the other, and each beat is a commit. */
const BEAT_EVERY_MS = 250;
/** So many times as many polls as it makes at once a coordinator keeps to itself before it shares them by the queue. */
const OWN_POLLS_AHEAD = 4;
/** Where every commit may bring a sweep, not each one asks whether anything waits for a provider. */
const RELEASE_EVERY_MS = 100;
const PARTITIONS_EVERY_MS = 6 * 3_600_000;
const ARTIFACTS_EVERY_MS = 10 * 60_000;

/** Calls that come while one runs share the next one: what became due meanwhile is not missed, and none piles up. */
const coalesced = (work: () => Promise<void>): { run: () => Promise<void>; idle: () => Promise<unknown> } => {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const begin = (): Promise<void> => {
    next = null;
    running = work().finally(() => { running = null; });
    return running;
  };
  return {
    run: () => {
      if (running === null) return begin();
      next ??= running.then(begin, begin);
      return next;
    },
    idle: () => running?.catch(() => undefined) ?? Promise.resolve(),
  };
};

/**
 * The coordinator: repeatable jobs that take what is due by index. Decisions and polls are two clocks; neither keeps state in
 * memory, so that a restart resets nothing and any number of coordinators may run.
 */
export const startCoordinator = (settings: CoordinatorSettings): Coordinator => {
  const { engine, queue, relay } = settings;
  const transports = new Map(settings.transports.map((transport) => [transport.name, transport]));
  const gate = createGate(settings.pollConcurrency);
  // Only the calls are counted: what is being written down takes nothing of the provider, and no status may wait for that to be read.
  const polling = createGate(Infinity);
  const poll = (attemptKey: string): Promise<void> => polling(() => pollAttempt(engine, attemptKey, { transports, actor: settings.actor, inTurn: gate }));
  const deadLetters = startDeadLetterDuty({ engine, queue });
  const leaseMs = settings.providerTimeoutMs * 2 + 5_000;

  let beatAt: number | null = null;
  const beat = async (): Promise<void> => {
    const now = engine.now();
    if (beatAt !== null && Math.abs(now - beatAt) < BEAT_EVERY_MS) return;
    await engine.ledger.beat('sweep', now);
    beatAt = now;
  };
  let pollsHere = false;
  let releasedAt = Number.NEGATIVE_INFINITY;
  const decide = async (): Promise<void> => {
    await sweepDecisions(engine, settings.actor);
    if (clock && engine.monotonic() - releasedAt < RELEASE_EVERY_MS) return;
    releasedAt = engine.monotonic();
    await releaseWaiting(engine, settings.actor);
  };
  const handOut = async (): Promise<void> => {
    pollsHere = await handOutPolls({ engine, queue, leaseMs, pollHere: poll, room: () => gate.room() + settings.pollConcurrency * OWN_POLLS_AHEAD, perSecond: settings.pollsPerSecond });
  };
  // Two clocks: in one process a status is read without waiting for what is decided to be written down, and the other way round.
  const [decisions, polls] = [coalesced(decide), coalesced(handOut)];
  // Under ticks of the queue they take turns: deadlines go first, and what is heard in the same instant comes after them, every time.
  const inTurn = coalesced(async () => {
    try {
      await decide();
    } finally {
      await handOut();
    }
  });
  const sideBySide = async (): Promise<void> => {
    for (const one of await Promise.allSettled([decisions.run(), polls.run()])) if (one.status === 'rejected') throw one.reason;
  };
  const sweep = async (): Promise<void> => {
    await (settings.onMoved === undefined ? inTurn.run() : sideBySide());
    await beat();
    // Not awaited: no decision waits for an operator's list, nor for its queue.
    void deadLetters.attendIfDue();
  };

  const clock = settings.onMoved && startDueClock({ engine, sweep, onMoved: settings.onMoved, heldBackMs: HELD_BACK_MS });
  const layNextTick = async (): Promise<void> => {
    if (clock) return clock.lookAhead();
    const due = await engine.ledger.nextDueAt(engine.now());
    const inMs = due === null ? TICK_EVERY_MS : due - engine.now();
    // Due already, and yet not taken by the sweep that has just ended: held back.
    if (inMs < TICK_EVERY_MS) await queue.addTick(inMs > 0 ? inMs : HELD_BACK_MS);
  };
  const onTick = async (): Promise<'done'> => {
    await sweep();
    relay.wake();
    await layNextTick();
    return 'done';
  };

  const workers: RunningWorker[] = [
    queue.startWorker('maintenance', { concurrency: 1, lockDurationMs: 30_000, handler: onTick }),
    queue.startWorker('status-poll', {
      concurrency: settings.pollConcurrency, lockDurationMs: leaseMs,
      handler: async ({ payload }) => {
        await poll(String(payload['attemptKey']));
        return 'done';
      },
    }),
  ];
  const inbound = startInboundDuty({ engine, transports: settings.transports, everyMs: settings.inboundEveryMs, busyMs: leaseMs });
  const heartbeat = startHeartbeat({ engine, queue, relay, sweep, tickEveryMs: TICK_EVERY_MS, pollsHere: () => pollsHere });
  const checkpoints = settings.checkpointFile === undefined ? null : startCheckpoints({ engine, file: settings.checkpointFile });
  const bounces: BounceDuty | null = settings.bounceMaildir === undefined ? null : startBounceDuty({ engine, folder: settings.bounceMaildir, actor: `${settings.actor}-mailbox` });
  const erasures = startErasures({ engine, file: settings.erasureFile ?? null, actor: settings.actor });
  const retention = startRetention(engine);
  const alerts = settings.alerts === undefined ? null : startAlertDuty({ engine, ...settings.alerts });
  const partitions = setInterval(() => {
    ensurePartitions(engine.db, engine.now()).catch((error: unknown) => engine.log.warn({ event: EVENTS.sweepFailed, duty: 'partitions', error: (error as Error).name }));
  }, PARTITIONS_EVERY_MS);
  const artifacts = setInterval(() => {
    destroyExpired(engine).then(() => sweepDrafts(engine)).catch((error: unknown) => engine.log.warn({ event: EVENTS.sweepFailed, duty: 'artifacts', error: (error as Error).name }));
  }, ARTIFACTS_EVERY_MS);
  return {
    sweep,
    attendDeadLetters: deadLetters.attend,
    attendBounces: async () => { await bounces?.attend(); },
    readInbound: inbound.tick,
    alerts,
    close: async () => {
      clearInterval(partitions);
      clearInterval(artifacts);
      clock?.close();
      await Promise.all([checkpoints?.close(), alerts?.close(), bounces?.close(), inbound.close(), erasures.close(), retention.close()]);
      await heartbeat.close();
      await Promise.all([deadLetters.close(), ...workers.map((worker) => worker.close())]);
      await Promise.all([decisions.idle(), polls.idle(), inTurn.idle()]);
      await polling.idle();
    },
  };
};
