import type { Engine } from '../../shared/delivery/engine.ts';
import type { PollClaim, PollRates } from '../../shared/ledger/lease-polls.ts';
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
  perSecond?: PollRates | undefined;
}

// An id of its own for every lease: a job whose worker died with it in hand keeps its id long after the lease.
const pollJob = (claim: PollClaim, leasedAt: number) => ({
  id: `${claim.attemptKey}-p${claim.nextPollAt}-${leasedAt}`, name: 'poll', payload: { eventId: claim.eventId, attemptKey: claim.attemptKey },
});

/**
 * Hands out what is due and what the providers' rates permit. Polls go through the queue, so that every coordinator shares
 * them; where the queue is away this one makes them itself. Returns whether it did.
 */
export const handOutPolls = async ({ engine, queue, leaseMs, pollHere, perSecond }: PollHandOut): Promise<boolean> => {
  let madeHere = false;
  for (;;) {
    const now = engine.now();
    const claims = await engine.ledger.leaseDuePolls({ now, leaseUntil: now + leaseMs, limit: POLL_BATCH, perSecond });
    if (claims.length === 0) return madeHere;
    try {
      await queue.addJobs('status-poll', claims.map((claim) => pollJob(claim, now)));
    } catch {
      madeHere = true;
      for (const { attemptKey } of claims) {
        pollHere(attemptKey).catch((error: unknown) => engine.log.warn({ event: EVENTS.pollFailed, attempt: attemptKey, error: (error as Error).name }));
      }
    }
    if (claims.length < POLL_BATCH) return madeHere;
  }
};
