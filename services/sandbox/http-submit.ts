import { setTimeout as wait } from 'node:timers/promises';
import type { Response } from 'express';
import type { Dialect } from './dialect.ts';
import type { Provider } from './provider.ts';
import type { SubmitStep } from './script.ts';

/** A decision on one POST: the step, and under which name and code it is recorded. */
export interface Decision { step: SubmitStep; behaviour: string; code: number | null }

/** What is known of a submission before it is decided on; `invalid` is the code it is refused with as it stands. */
export interface Incoming { to: string; attemptKey: string | null; isAuthorized: boolean; invalid: number | null }

const codeOf = (step: SubmitStep, { codes }: Dialect): number | null => {
  switch (step.submit) {
    case 'reject': return step.code ?? codes.reject;
    case 'throttle': return step.code ?? codes.throttle;
    case 'fail':
    case 'fail_after_accept': return step.code ?? codes.fail;
    default: return null;
  }
};

const refusal = (behaviour: string, code: number): Decision => ({ step: { submit: 'reject', code }, behaviour, code });

/** What happens to a submission: credentials, outage and form come before any script. */
export const decideSubmission = ({ book, outages }: Provider, dialect: Dialect, { to, attemptKey, isAuthorized, invalid }: Incoming): Decision => {
  const { channel, codes } = dialect;
  if (!isAuthorized) return refusal('unauthorized', codes.unauthorized);
  if (outages.kind(channel) === 'hang') return { step: { submit: 'hang' }, behaviour: 'outage', code: null };
  if (outages.kind(channel) === 'error500') return { step: { submit: 'fail' }, behaviour: 'outage', code: codes.fail };
  if (invalid !== null) return refusal('invalid', invalid);
  const step = book.settle(book.draw(to, channel), to, attemptKey);
  return { step, behaviour: step.submit, code: codeOf(step, dialect) };
};

const sendNonsense = (response: Response, step: Extract<SubmitStep, { submit: 'nonsense' }>, { takenStatus, withoutId }: Dialect): void => {
  response.status(step.httpStatus ?? takenStatus);
  switch (step.form ?? 'html') {
    case 'html': response.type('html').send('<!doctype html><title>Proxy</title><p>It works!'); break;
    case 'json_without_sid': response.json(withoutId); break;
    case 'truncated_json': response.type('json').send(JSON.stringify(withoutId).slice(0, -3)); break;
    case 'empty': response.end();
  }
};

/** Answers as decided. A lost response is a destroyed socket: the client has written everything and hears nothing. */
export const answerSubmission = async (response: Response, { step, code }: Decision, dialect: Dialect, taken: () => Record<string, unknown>): Promise<void> => {
  const { codes, refuse, takenStatus } = dialect;
  switch (step.submit) {
    case 'accept':
      if (step.answerAfterMs) await wait(step.answerAfterMs);
      response.status(takenStatus).json(taken());
      break;
    case 'reject': refuse(response, code ?? codes.reject, step.httpStatus); break;
    case 'throttle':
      if (step.retryAfter !== undefined) response.set('Retry-After', String(step.retryAfter));
      refuse(response, code ?? codes.throttle, 429);
      break;
    case 'fail':
    case 'fail_after_accept': refuse(response, code ?? codes.fail, step.httpStatus ?? 500); break;
    case 'nonsense': sendNonsense(response, step, dialect); break;
    case 'lose_response':
    case 'drop_before_read': response.socket?.destroy(); break;
    case 'hang': break;
  }
};
