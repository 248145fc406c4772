import type { RawAnswer } from '../../domain/provider-answers.ts';
import type { ReasonCode } from '../../domain/reasons.ts';
import type { CallOutcome } from '../http/client.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { TwilioApi } from './api.ts';
import { meaningOfRefusal } from './error-table.ts';
import { codeOf, jsonOf, rawOf } from './message-resource.ts';

export type Answered = Extract<CallOutcome, { kind: 'answered' }>;

/** A read that is no evidence of anything. */
export interface ReadFailed { kind: 'read_failed'; reason: ReasonCode; retryAfterMs: number | null; raw?: RawAnswer }

export type ReadOutcome = { kind: 'read'; json: Record<string, unknown>; answer: Answered } | { kind: 'not_found'; raw: RawAnswer } | ReadFailed;

/** A 2xx whose content cannot be the answer to what was asked. */
export const notUnderstood = (answer: Answered, code: string | null = null): ReadFailed => ({
  kind: 'read_failed', reason: 'answer_not_understood', retryAfterMs: null, raw: rawOf(answer, code),
});

const refusalOf = (answer: Answered, api: TwilioApi): ReadFailed => {
  const code = codeOf(jsonOf(answer)?.code);
  const meaning = meaningOfRefusal(answer.httpStatus, code);
  return {
    kind: 'read_failed',
    // an error that would refuse a message says nothing about one that was only asked after
    reason: meaning.class === 'rejected' || meaning.class === 'suppressed' ? 'read_failed' : meaning.reason,
    retryAfterMs: retryAfterMs(answer.headers['retry-after'], api.now()),
    raw: rawOf(answer, code),
  };
};

/** One GET and what can be read of its answer; every failure is a value. */
export const read = async (api: TwilioApi, url: URL, limits: { limitMs: number; maxBodyBytes: number }): Promise<ReadOutcome> => {
  const outcome = await api.get(url, limits);
  if (outcome.kind === 'abandoned') throw new Error('a read has no fence');
  if (outcome.kind !== 'answered') return { kind: 'read_failed', reason: outcome.reason, retryAfterMs: null };
  if (outcome.httpStatus === 404) return { kind: 'not_found', raw: rawOf(outcome, codeOf(jsonOf(outcome)?.code)) };
  if (outcome.httpStatus < 200 || outcome.httpStatus > 299) return refusalOf(outcome, api);
  const json = jsonOf(outcome);
  return json ? { kind: 'read', json, answer: outcome } : notUnderstood(outcome);
};
