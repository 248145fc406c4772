import { handleDeadLetterRequests } from '../../shared/delivery/dead-letter-requests.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { CHANNELS, parseAttemptKey } from '../../shared/domain/words.ts';
import type { Shown } from '../../shared/ledger/dead-letters.ts';
import { countProjected, deadLettersToProject, expireDeadLetters, forgetProjection, markProjected, readDeadLetter, showAgain } from '../../shared/ledger/dead-letters.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { deadLetterJobId, deadLetterQueue } from '../../shared/queue/queue-names.ts';
import type { HandlerResult, RunningWorker, TakenJob, WorkJob } from '../../shared/queue/work-job.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';

/** How often it is looked for requests and for rows without their job, at most. */
const LOOK_EVERY_MS = 500;
/** How often the board is counted against the rows. */
const COUNT_EVERY_MS = 15_000;
/** How often open ones are looked at for an expiry that passed. */
const EXPIRE_EVERY_MS = 5_000;
const LOOK_AGAIN_MS = 2_000;
const BATCH = 200;

const jobOf = (row: Shown): WorkJob => ({
  id: deadLetterJobId(row.id, row.showing), name: row.reason, keepFailed: true,
  payload: { deadLetterId: row.id, showing: row.showing, eventId: row.eventId, channel: row.channel, sequence: parseAttemptKey(row.attemptKey)?.sequence ?? 0 },
});

export interface DeadLetterDuty {
  /** Carries out requests and mends the projection. Rejects never. */
  attend: () => Promise<void>;
  /** The same, unless it was done just now. */
  attendIfDue: () => Promise<void>;
  close: () => Promise<void>;
}

/**
 * Dead letters before their operators: rows are the truth, and for each open one a failed job stands in its channel's dead-letter
 * queue. A job that is retried there finds the request recorded, has it carried out, and completes whatever comes of it. Requests
 * recorded without the board are carried out here as well, so that only the board needs the queue.
 */
export const startDeadLetterDuty = ({ engine, queue }: { engine: Engine; queue: QueueBackend }): DeadLetterDuty => {
  const handler = async ({ payload }: TakenJob): Promise<HandlerResult> => {
    const id = String(payload['deadLetterId']);
    const row = await readDeadLetter(engine.db, BigInt(id));
    // Resolved, or shown anew meanwhile: another job stands for it.
    if (!row || row.resolvedAt !== null || row.showing !== payload['showing']) return 'done';
    if (row.requests.some((request) => request.handledAt === null)) {
      // Another coordinator has it in hand: what came of it is seen in a moment.
      if (await handleDeadLetterRequests(engine, { deadLetterId: id }) === 0) return { retryAtMs: engine.hostNow() + LOOK_AGAIN_MS };
      await showAgain(engine.db, { id, showing: row.showing });
      return 'done';
    }
    return { failedReason: row.reason };
  };
  const workers: RunningWorker[] = CHANNELS.map((channel) => queue.startWorker(deadLetterQueue(channel), { concurrency: 20, lockDurationMs: 30_000, handler }));

  const project = async (): Promise<void> => {
    const { show, hide } = await deadLettersToProject(engine.db, BATCH);
    for (const channel of CHANNELS) {
      const shown = show.filter((row) => row.channel === channel);
      const hidden = hide.filter((row) => row.channel === channel);
      if (shown.length > 0) await queue.addJobs(deadLetterQueue(channel), shown.map(jobOf));
      await markProjected(engine.db, shown, true);
      await queue.removeJobs(deadLetterQueue(channel), hidden.map((row) => deadLetterJobId(row.id, row.showing)));
      await markProjected(engine.db, hidden, false);
    }
    if (show.length === BATCH || hide.length === BATCH) await project();
  };

  /** A queue that was flushed has fewer jobs than rows; jobs that are there keep their ids, so that none comes twice. */
  const compare = async (): Promise<void> => {
    const projected = await countProjected(engine.db);
    if (Object.keys(projected).length === 0) return;
    const counts = await queue.counts();
    for (const channel of CHANNELS) {
      const { failed, waiting, active, delayed } = counts[deadLetterQueue(channel)];
      if (failed + waiting + active + delayed >= (projected[channel] ?? 0)) continue;
      engine.log.info({ event: EVENTS.projectionRebuilt, channel, rows: projected[channel] });
      await forgetProjection(engine.db, channel);
    }
  };

  /** What nobody can retry any more is no work for anybody. By the engine's clock, to which expiries belong. */
  let expiredAt = Number.NEGATIVE_INFINITY;
  const expire = async (): Promise<void> => {
    const now = engine.now();
    if (now - expiredAt < EXPIRE_EVERY_MS) return;
    if (await expireDeadLetters(engine.db, { now, limit: BATCH }) < BATCH) expiredAt = now;
  };

  let lookedAt = Number.NEGATIVE_INFINITY;
  let countedAt = engine.monotonic();
  let running: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    await handleDeadLetterRequests(engine);
    await expire();
    if (engine.monotonic() - countedAt >= COUNT_EVERY_MS) {
      countedAt = engine.monotonic();
      await compare();
    }
    await project();
  };
  const attend = (): Promise<void> => {
    lookedAt = engine.monotonic();
    running ??= look()
      .catch((error: unknown) => engine.log.warn({ event: EVENTS.projectionFailed, error: (error as Error).name }))
      .finally(() => { running = null; });
    return running;
  };
  return {
    attend,
    attendIfDue: async () => { if (running === null && engine.monotonic() - lookedAt >= LOOK_EVERY_MS) await attend(); },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
      await running;
    },
  };
};
