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
  /** How many polls this process could begin at once; none where it is not said. */
  room?: () => number;
  perSecond?: PollRates | undefined;
}

// An id of its own for every lease: a job whose worker died with it in hand keeps its id long after the lease.
const pollJob = (claim: PollClaim, leasedAt: number) => ({
  id: `${claim.attemptKey}-p${claim.nextPollAt}-${leasedAt}`, name: 'poll', payload: { eventId: claim.eventId, attemptKey: claim.attemptKey },
});

/**
 * Hands out what is due and what the providers' rates permit. As many as this process has hands for it makes itself, under the lease that it
 * took; the rest goes through the queue, so that every coordinator shares it. Where the queue is away this one makes them all. Returns
 * whether it had to.
 */
export const handOutPolls = async ({ engine, queue, leaseMs, pollHere, room = () => 0, perSecond }: PollHandOut): Promise<boolean> => {
  let madeHere = false;
  const make = (claims: readonly PollClaim[]): void => {
    for (const { attemptKey } of claims) {
      pollHere(attemptKey).catch((error: unknown) => engine.log.warn({ event: EVENTS.pollFailed, attempt: attemptKey, error: (error as Error).name }));
    }
  };
  for (;;) {
    const now = engine.now();
    const claims = await engine.ledger.leaseDuePolls({ now, leaseUntil: now + leaseMs, limit: POLL_BATCH, perSecond });
    if (claims.length === 0) return madeHere;
    const own = Math.max(0, room());
    make(claims.slice(0, own));
    const shared = claims.slice(own);
    try {
      if (shared.length > 0) await queue.addJobs('status-poll', shared.map((claim) => pollJob(claim, now)));
    } catch {
      madeHere = true;
      make(shared);
    }
    if (claims.length < POLL_BATCH) return madeHere;
  }
};
