import type { AttemptKey, Instant, Outcome } from './words.ts';
import type { Asked, LookUpResult, StatusReading } from './provider-answers.ts';
import { amended } from './copies.ts';
import type { AttemptState } from './state.ts';
import { canBeRead, isReconciling, mayBeSent, submissionStart } from './state.ts';
import type { Work } from './work.ts';
import { isRecordedLate, nextPollAfterFailure } from './clocks.ts';
import { clockOf, scheduled } from './polling.ts';
import { toldMeanwhile } from './resubmission.ts';
import type { ReasonCode } from './reasons.ts';

type Source = 'poll' | 'look_up' | 'mailbox';

/** When an answer was asked for: told of every look-up, whose absence is measured by it, and of what is recorded long after. */
const askedFor = ({ input }: Work, source: Source, askedAt: Instant | undefined): { asked_at?: Instant } =>
  (askedAt !== undefined && (source === 'look_up' || isRecordedLate(askedAt, input.now)) ? { asked_at: Math.min(askedAt, input.now) } : {});

interface Seen { source: Source; outcome: Outcome | 'not_found' | 'several'; reason: ReasonCode | null; counts: boolean; askedAt?: Instant | undefined }

const observed = (work: Work, attempt: AttemptState, { source, outcome, reason, counts, askedAt }: Seen): void =>
  work.emit({ kind: 'StatusObserved', details: {
    attempt: attempt.key, source, outcome, reason, counts,
    next_poll_at: source === 'mailbox' ? attempt.nextPollAt : scheduled(work, attempt), ...askedFor(work, source, askedAt),
    ...toldMeanwhile(attempt, source === 'look_up' && outcome !== 'not_found' && outcome !== 'several'),
  } });

const readFailed = (work: Work, attempt: AttemptState, source: 'poll' | 'look_up', failure: { reason: ReasonCode; retryAfterMs: number | null }): void => {
  const next = canBeRead(attempt) ? nextPollAfterFailure(clockOf(work, attempt), failure.retryAfterMs) : null;
  work.emit({ kind: 'StatusReadFailed', details: { attempt: attempt.key, source, reason: failure.reason, next_poll_at: next } });
};

/** An outcome heard of an attempt: terminal ones end it once; late, stale and repeated ones are kept and change nothing (invariant 8). */
const heard = (work: Work, attempt: AttemptState, { source, outcome, reason, askedAt }: Omit<Seen, 'counts'> & { outcome: Outcome }): void => {
  const recordOnly = !isReconciling(attempt);
  if (recordOnly || outcome === 'pending' || outcome === 'accepted' || outcome === 'unknown') {
    return observed(work, attempt, { source, outcome, reason, askedAt, counts: !recordOnly && outcome !== 'unknown' });
  }
  const { key } = attempt;
  switch (outcome) {
    case 'delivered': return work.emit({ kind: 'AttemptDelivered', details: { attempt: key, source, reason } });
    case 'undelivered': return work.emit({ kind: 'AttemptUndelivered', details: { attempt: key, source, reason: reason ?? 'carrier_failed' } });
    case 'rejected': return work.emit({ kind: 'AttemptRejected', details: { attempt: key, source, reason: reason ?? 'refused_by_provider' } });
    case 'suppressed': return work.emit({ kind: 'AttemptSuppressed', details: { attempt: key, source, reason: reason ?? 'opted_out' } });
  }
};

/**
 * Records one status read by the provider's id, or reported by mail. A failed read is no evidence; a 404 is *not yet visible*, never a failure. Only an
 * explicit later bounce corrects a delivery, as an entry that triggers nothing.
 */
export const recordStatus = (work: Work, key: AttemptKey, reading: StatusReading, { source = 'poll', askedAt }: { source?: 'poll' | 'mailbox'; askedAt?: Instant } = {}): void => {
  const attempt = work.attempt(key);
  switch (reading.kind) {
    case 'observed':
      if (attempt.state === 'delivered' && reading.outcome === 'undelivered' && reading.laterBounce === true) {
        return work.emit({ kind: 'DeliveryCorrected', details: { attempt: key, source, reason: reading.reason ?? 'carrier_failed' } });
      }
      return heard(work, attempt, { source, outcome: reading.outcome, reason: reading.reason, askedAt });
    case 'not_found': return observed(work, attempt, { source: 'poll', outcome: 'not_found', reason: 'not_yet_visible', counts: isReconciling(attempt), askedAt });
    case 'read_failed': return readFailed(work, attempt, 'poll', reading);
  }
};

/**
 * Records one look-up by our own reference: exactly one match is adopted, none or several leave the attempt unknown. None counts only where no other read
 * brought something since it was asked for: two answers to one moment, or one answer recorded twice, are a single absence.
 */
export const recordLookUp = (work: Work, key: AttemptKey, result: LookUpResult, { at: askedAt, reads }: Asked): void => {
  const attempt = work.attempt(key);
  const counts = isReconciling(attempt);
  const seen = { source: 'look_up', askedAt } as const;
  switch (result.kind) {
    case 'none': return observed(work, attempt, { ...seen, outcome: 'not_found', reason: 'not_found', counts: counts && attempt.polls === reads });
    case 'several': return observed(work, attempt, { ...seen, outcome: 'several', reason: 'several_matches', counts });
    case 'read_failed': return readFailed(work, attempt, 'look_up', result);
    case 'found':
      // Also while it waits to be submitted again: it is there after all, and the resubmission is off.
      if (attempt.settledAt === null && (attempt.state === 'submitted_unknown' || (attempt.state === 'queued' && mayBeSent(attempt)))) return adopt(work, attempt, result, askedAt);
      // The attempt has its id by now; a listing that found another message speaks of another message.
      if (result.providerMessageId === attempt.providerMessageId) return heard(work, attempt, { ...seen, outcome: result.outcome, reason: result.reason });
      return observed(work, attempt, { ...seen, outcome: result.outcome, reason: result.reason, counts: false });
  }
};

const adopt = (work: Work, attempt: AttemptState, found: Extract<LookUpResult, { kind: 'found' }>, askedAt: Instant): void => {
  const adopted = amended(attempt, { state: 'submitted', submittedAt: submissionStart(attempt) });
  work.emit({
    kind: 'AttemptAdopted',
    details: { attempt: attempt.key, provider_message_id: found.providerMessageId, outcome: found.outcome, next_poll_at: scheduled(work, adopted), ...askedFor(work, 'look_up', askedAt) },
  });
  if (found.outcome !== 'pending' && found.outcome !== 'accepted' && found.outcome !== 'unknown') heard(work, work.attempt(attempt.key), { source: 'look_up', outcome: found.outcome, reason: found.reason, askedAt });
};
