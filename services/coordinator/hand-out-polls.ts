import type { Engine } from '../../shared/delivery/engine.ts';
import type { PollClaim } from '../../shared/ledger/claims.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';

const POLL_BATCH = 500;

export interface PollHandOut {
  engine: Engine;
  queue: Pick<QueueBackend, 'addJobs'>;
  /** How long a poll is its worker's; longer than the longest call. */
  leaseMs: number;
  /** Makes a poll in this process, where the queue is away. */
  pollHere: (attemptKey: string) => Promise<void>;
}

// An id of its own for every lease: a job whose worker died with it in hand keeps its id long after the lease.
const pollJob = (claim: PollClaim, leasedAt: number) => ({
  id: `${claim.attemptKey}-p${claim.nextPollAt}-${leasedAt}`, name: 'poll', payload: { eventId: claim.eventId, attemptKey: claim.attemptKey },
});

/** Polls go through the queue, so that every coordinator shares them; where the queue is away this one makes them itself. */
export const handOutPolls = async ({ engine, queue, leaseMs, pollHere }: PollHandOut): Promise<void> => {
  for (;;) {
    const now = engine.now();
    const claims = await engine.ledger.leaseDuePolls({ now, leaseUntil: now + leaseMs, limit: POLL_BATCH });
    if (claims.length === 0) return;
    try {
      await queue.addJobs('status-poll', claims.map((claim) => pollJob(claim, now)));
    } catch {
      for (const { attemptKey } of claims) {
        pollHere(attemptKey).catch((error: unknown) => engine.log.warn({ event: EVENTS.pollFailed, attempt: attemptKey, error: (error as Error).name }));
      }
    }
    if (claims.length < POLL_BATCH) return;
  }
};
