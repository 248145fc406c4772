import type { AttemptKey, Instant } from './words.ts';
import type { Asked, LookUpResult, StatusReading, SubmitResult } from './provider-answers.ts';
import type { NotificationState } from './state.ts';
import type { Decision, DecisionInput, Work } from './work.ts';
import { openWork } from './work.ts';
import type { Intent } from './lifecycle.ts';
import { accept, advance, close } from './lifecycle.ts';
import type { Erasure } from './erasure.ts';
import { erase } from './erasure.ts';
import { pause, resume } from './pause.ts';
import type { Retry } from './retry.ts';
import { retry } from './retry.ts';
import type { SubmitRefusal } from './submissions.ts';
import { endShadowed, recordSubmission, refuseToSubmit, startRefusal, startSubmission } from './submissions.ts';
import { noteOptOut } from './eligibility.ts';
import { withResolutions } from './dead-letters.ts';
import { recordLookUp, recordStatus } from './observations.ts';
import type { PreconditionAnswer } from './precondition.ts';
import { isStillNeeded, recordPrecondition } from './precondition.ts';
import type { PreconditionFault } from './reasons.ts';
import { giveBackProbes } from './provider-trouble.ts';
import { takeUp } from './take-up.ts';

export type Command =
  | { kind: 'accept'; intent: Intent }
  /** Apply what time alone makes due. */
  | { kind: 'tick' }
  | { kind: 'start_submission'; attempt: AttemptKey }
  | { kind: 'refuse_to_submit'; attempt: AttemptKey; reason: SubmitRefusal }
  | { kind: 'record_submission'; attempt: AttemptKey; submission: number; result: SubmitResult; answeredAt?: Instant }
  /** `source` where it was not asked for but came by itself. */
  | { kind: 'record_status'; attempt: AttemptKey; reading: StatusReading; askedAt?: Instant; source?: 'mailbox' }
  | { kind: 'record_look_up'; attempt: AttemptKey; result: LookUpResult; asked: Asked }
  /** What the origin system said to the question that is waited for until `askedUntil`. */
  | { kind: 'record_precondition'; answer: PreconditionAnswer; askedUntil: number; fault?: PreconditionFault | undefined }
  | { kind: 'close'; reason: string }
  | { kind: 'pause'; reason: string }
  /** A person asked to be erased. */
  | { kind: 'erase' } & Erasure
  /**
   * With `leaveRest` what fell due meanwhile is left to the next tick, whose alarm is then due at once: for one who cannot render
   * as the deployment does, and so must plan nothing.
   */
  | { kind: 'resume'; reason: string; leaveRest?: boolean }
  /** An operator's decision; `reason` is a code. */
  | { kind: 'retry' } & Retry;

/** What may be submitted: in shadow it ends here, and the origin system is not asked either, since its answer speaks of all steps. */
const begin = (work: Work, key: AttemptKey): void => {
  const { shadow, step } = work.attempt(key);
  if (shadow) endShadowed(work, key, null);
  else if (isStillNeeded(work, 'submission', step)) startSubmission(work, key);
};

const finish = (work: Work): Decision => {
  takeUp(work);
  giveBackProbes(work);
  return work.finish();
};

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
      return finish(work);
    case 'tick':
      break;
    case 'start_submission':
      advance(work);
      if (startRefusal(work.state, command.attempt, input.now) !== null) return finish(work);
      begin(work, command.attempt);
      // A claim that waits for its answer may not be permitted any more: what was pending is unknown from here on.
      break;
    case 'refuse_to_submit':
      advance(work);
      if (startRefusal(work.state, command.attempt, input.now) === null) refuseToSubmit(work, command.attempt, command.reason);
      break;
    case 'record_submission':
      recordSubmission(work, command.attempt, command);
      noteOptOut(work, command.attempt, command.result);
      break;
    case 'record_status':
      recordStatus(work, command.attempt, command.reading, command);
      noteOptOut(work, command.attempt, command.reading);
      break;
    case 'record_look_up':
      recordLookUp(work, command.attempt, command.result, command.asked);
      noteOptOut(work, command.attempt, command.result);
      break;
    case 'record_precondition':
      recordPrecondition(work, command);
      break;
    case 'close':
      close(work, command.reason);
      break;
    case 'erase':
      erase(work, command);
      break;
    case 'pause':
      pause(work, command.reason);
      break;
    case 'resume':
      resume(work, command.reason);
      if (command.leaveRest) return finish(work);
      break;
    case 'retry':
      advance(work);
      retry(work, command);
      break;
  }
  advance(work);
  return finish(work);
};
