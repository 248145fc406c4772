import type { AttemptKey } from './words.ts';
import type { LookUpResult, StatusReading, SubmitResult } from './provider-answers.ts';
import type { NotificationState } from './state.ts';
import type { Decision, DecisionInput } from './work.ts';
import { openWork } from './work.ts';
import type { Intent } from './lifecycle.ts';
import { accept, advance, close } from './lifecycle.ts';
import { pause, resume } from './pause.ts';
import type { Retry } from './retry.ts';
import { retry } from './retry.ts';
import type { SubmitRefusal } from './submissions.ts';
import { recordSubmission, refuseToSubmit, startRefusal, startSubmission } from './submissions.ts';
import { withResolutions } from './dead-letters.ts';
import { recordLookUp, recordStatus } from './observations.ts';

export type Command =
  | { kind: 'accept'; intent: Intent }
  /** Apply what time alone makes due. */
  | { kind: 'tick' }
  | { kind: 'start_submission'; attempt: AttemptKey }
  | { kind: 'refuse_to_submit'; attempt: AttemptKey; reason: SubmitRefusal }
  | { kind: 'record_submission'; attempt: AttemptKey; submission: number; result: SubmitResult }
  | { kind: 'record_status'; attempt: AttemptKey; reading: StatusReading }
  | { kind: 'record_look_up'; attempt: AttemptKey; result: LookUpResult }
  | { kind: 'close'; reason: string }
  | { kind: 'pause'; reason: string }
  /**
   * With `leaveRest` what fell due meanwhile is left to the next tick, whose alarm is then due at once: for one who cannot render
   * as the deployment does, and so must plan nothing.
   */
  | { kind: 'resume'; reason: string; leaveRest?: boolean }
  /** An operator's decision; `reason` is a code. */
  | { kind: 'retry' } & Retry;

/**
 * Decides what a command comes to: the transitions to append and the requests that belong into the same transaction. Pure.
 * Rules whose instant has come are applied first, so that a worker that is late finds its attempt superseded or expired; and
 * last, so that an answer that ends an attempt claims the next step in the same append. No transitions: nothing to do.
 */
export const decide = (command: Command, state: NotificationState, input: DecisionInput): Decision => withResolutions(decideRules(command, state, input));

const decideRules = (command: Command, state: NotificationState, input: DecisionInput): Decision => {
  const work = openWork(input, state);
  switch (command.kind) {
    case 'accept':
      if (state.version === 0) accept(work, command.intent);
      return work.finish();
    case 'tick':
      break;
    case 'start_submission':
      advance(work);
      if (startRefusal(work.state, command.attempt, input.now) === null) startSubmission(work, command.attempt);
      return work.finish();
    case 'refuse_to_submit':
      advance(work);
      if (startRefusal(work.state, command.attempt, input.now) === null) refuseToSubmit(work, command.attempt, command.reason);
      break;
    case 'record_submission':
      recordSubmission(work, command.attempt, command.submission, command.result);
      break;
    case 'record_status':
      recordStatus(work, command.attempt, command.reading);
      break;
    case 'record_look_up':
      recordLookUp(work, command.attempt, command.result);
      break;
    case 'close':
      close(work, command.reason);
      break;
    case 'pause':
      pause(work, command.reason);
      break;
    case 'resume':
      resume(work, command.reason);
      if (command.leaveRest) return work.finish();
      break;
    case 'retry':
      advance(work);
      retry(work, command);
      break;
  }
  advance(work);
  return work.finish();
};
