import type { RawAnswer } from '../../domain/provider-answers.ts';
import type { ReasonCode } from '../../domain/reasons.ts';
import type { Instant } from '../../domain/words.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { Answered, Json } from './answer.ts';
import { isSuccess, jsonOf, rawOf } from './answer.ts';
import type { CallOutcome } from './client.ts';
import type { ErrorMeaning } from './error-meaning.ts';

/** A read that is no evidence of anything. */
export interface ReadFailed { kind: 'read_failed'; reason: ReasonCode; retryAfterMs: number | null; raw?: RawAnswer }

export type ReadOutcome = { kind: 'read'; json: Json; answer: Answered } | { kind: 'not_found'; raw: RawAnswer } | ReadFailed;

/** How a provider writes its errors. */
export interface ErrorReader {
  codeOf: (json: Json | null) => number | string | null;
  meaningOf: (answer: Answered) => ErrorMeaning;
}

/** A 2xx whose content cannot be the answer to what was asked. */
export const notUnderstood = (answer: Answered, code: string | null = null): ReadFailed => ({
  kind: 'read_failed', reason: 'answer_not_understood', retryAfterMs: null, raw: rawOf(answer, code),
});

/** What can be read of the answer to a GET; every failure is a value. @throws where the call had a fence, which a read has not. */
export const readAnswer = (outcome: CallOutcome, errors: ErrorReader, now: Instant): ReadOutcome => {
  if (outcome.kind === 'abandoned') throw new Error('a read has no fence');
  if (outcome.kind !== 'answered') return { kind: 'read_failed', reason: outcome.reason, retryAfterMs: null };
  const json = jsonOf(outcome);
  if (isSuccess(outcome)) return json ? { kind: 'read', json, answer: outcome } : notUnderstood(outcome);
  const raw = rawOf(outcome, errors.codeOf(json));
  if (outcome.httpStatus === 404) return { kind: 'not_found', raw };
  const meaning = errors.meaningOf(outcome);
  return {
    kind: 'read_failed',
    // an error that would refuse a message says nothing about one that was only asked after
    reason: meaning.class === 'rejected' || meaning.class === 'suppressed' ? 'read_failed' : meaning.reason,
    retryAfterMs: retryAfterMs(outcome.headers['retry-after'], now),
    raw,
  };
};
