import { wasBarred } from '../../shared/domain/eligibility.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from '../../shared/domain/decide.ts';
import { decide } from '../../shared/domain/decide.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import { REASONS } from '../../shared/domain/reasons.ts';
import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import { emptyState, findAttempt, hasFailed, isLive, isUnsubmitted } from '../../shared/domain/state.ts';
import type { ProviderStates } from '../../shared/domain/provider-state.ts';
import { checkProviders } from './provider-rules.ts';
import type { Stamped } from '../../shared/domain/transitions.ts';
import type { Decision, DecisionInput } from '../../shared/domain/work.ts';
import { must } from './broken-invariant.ts';
import { goneBy } from '../simulation/payload-rules.ts';
import { checkTransition, openTally } from './entry-rules.ts';

/** One decision as the checks see it. */
export interface Decided { before: NotificationState; command: Command; decision: Decision; input: DecisionInput; /** As the decision leaves them. */ providers: ProviderStates }

const frozenFields = ({ state, settledAt, reason, evidence, providerMessageId, submissions }: AttemptState) => ({ state, settledAt, reason, evidence, providerMessageId, submissions });

const attemptRules = (attempt: AttemptState, { before, decision: { state, transitions }, input }: Decided): void => {
  const { now } = input;
  const was = findAttempt(before, attempt.key);
  const corrected = transitions.some(({ transition: t }) => t.kind === 'DeliveryCorrected' && t.details.attempt === attempt.key);
  if (was && was.settledAt !== null && !corrected) must(isDeepStrictEqual(frozenFields(was), frozenFields(attempt)), 'an attempt that ended never changes (inv. 8)', [was, attempt]);
  const end = attempt.state === 'delivered' || attempt.state === 'submitted' || attempt.state === 'shadowed' || isLive(attempt);
  const shadow = input.policy.steps[attempt.step]?.shadow === true;
  must((attempt.shadow === true) === shadow && (shadow || attempt.state !== 'shadowed'), 'in shadow runs what the policy says, and nothing else', attempt);
  must(!shadow || (attempt.submissions === 0 && attempt.submittedAt === null && attempt.providerMessageId === null && attempt.nextPollAt === null), 'what runs in shadow has no submission', attempt);
  must(!shadow || (!attempt.superseded && attempt.providerWaitAt === null && attempt.sequence === 1), 'what runs in shadow is neither superseded, held nor retried', attempt);
  must(end || (attempt.reason !== null && attempt.reason in REASONS), 'every end has a reason', attempt);
  must(!isUnsubmitted(attempt) || !attempt.superseded, 'a claim leaves no earlier attempt unsubmitted (inv. 10)', attempt);
  must(!isUnsubmitted(attempt) || now < state.expiresAt, 'nothing waits to be submitted once expired (inv. 5)', attempt);
  must(!isUnsubmitted(attempt) || state.closed === null, 'nothing waits to be submitted once closed (inv. 9)', attempt);
  must(!isUnsubmitted(attempt) || state.paused !== null || input.eligibility(attempt.channel) === null, 'nothing waits to be submitted on a barred channel (inv. 9)', attempt);
  must(attempt.state !== 'submitting' || (attempt.outcomeDueAt as number) > now || was?.state !== 'submitting', 'a lost worker is rescued', attempt);
  must(attempt.nextPollAt === null || attempt.nextPollAt < state.reconcileUntil, 'no poll after the grace', attempt);
  must(attempt.nextPollAt === null || isLive(attempt), 'only a live attempt is polled', attempt);
};

/** A shadow alarms nobody: neither a dead letter nor a step of its own comes of it. */
const shadowRules = ({ decision: { state, transitions, requests } }: Decided): void => {
  const isShadow = (key: unknown): boolean => state.attempts.some((attempt) => attempt.shadow === true && attempt.key === key);
  must(!requests.some((one) => one.kind === 'dead_letter' && isShadow(one.attempt)), 'what runs in shadow is no dead letter', requests);
  for (const { transition: t } of transitions) {
    must(t.kind !== 'FallbackClaimed' || !isShadow(t.details.rests_on?.attempt), 'what runs in shadow claims nothing', t);
    must(t.kind !== 'FallbackClaimed' || state.steps[t.details.to_step]?.shadow !== true, 'what runs in shadow is never claimed', t);
  }
};

const stateRules = (decided: Decided): void => {
  const { before, command, decision: { state, transitions, requests }, input: { now } } = decided;
  must(state.version === before.version + transitions.length, 'versions are gapless (inv. 2)');
  must(before.version === 0 || (state.expiresAt === before.expiresAt && state.reconcileUntil === before.reconcileUntil), 'expiry never moves (inv. 5)');
  must(!state.paused || !requests.some(({ kind }) => kind === 'enqueue'), 'nothing is enqueued while paused (inv. 9)', requests);
  must(before.settledAt === null || state.settledAt !== null || command.kind === 'retry', 'only a retry opens again what has settled');
  must(isDeepStrictEqual(JSON.parse(JSON.stringify(state)), state), 'the state is plain JSON');
  for (const channel of ['sms', 'email']) {
    must(state.attempts.filter((attempt) => attempt.channel === channel && isLive(attempt)).length <= 1, 'one live attempt per channel (inv. 3)', channel);
  }
  for (const attempt of state.attempts) attemptRules(attempt, decided);
  must(goneBy(state).every((one) => one.at > now), 'what can be destroyed is destroyed', goneBy(state));
  const next = nextDecideAt(state);
  must(next === null || next > now, 'the next decision lies ahead', { next, now });
  must(next !== null || state.settledAt !== null, 'an unsettled notification has a next decision');
  must(state.settledAt === null || !state.attempts.some(isLive), 'settled means that nothing is live');
  must(state.settledAt === null || !state.steps.some((step) => step.phase === 'waiting'), 'settled means that nothing waits');
};

/** No more may follow from the same instant: what the decision did not do at once would wait for its next alarm. */
const isExhaustive = ({ decision, input, providers }: Decided): boolean => decide({ kind: 'tick' }, decision.state, { ...input, providers }).transitions.length === 0;

/** Answers that tell nothing: an unknown submission, a read that failed, a message that is not visible (yet). */
const tellsNothing = (command: Command): boolean =>
  (command.kind === 'record_submission' && command.result.kind === 'unknown')
  || (command.kind === 'record_status' && command.reading.kind !== 'observed')
  || (command.kind === 'record_look_up' && command.result.kind !== 'found');

const answerRules = ({ before, command, decision }: Decided): void => {
  if (!('attempt' in command) || !tellsNothing(command)) return;
  const was = findAttempt(before, command.attempt);
  const is = findAttempt(decision.state, command.attempt);
  // What waits again, definitely not sent, may be barred by then: that has nothing to do with what was heard.
  if (is && was?.state === 'queued' && wasBarred(is)) return;
  must(!was || !is || hasFailed(was) || !hasFailed(is), 'what tells nothing is never called failed', is);
};

/** Checks every decision of one notification against the invariants, in order. Throws BrokenInvariant. */
export const openChecks = (eventId: string): ((decided: Decided) => void) => {
  const tally = openTally();
  let replayed = emptyState(eventId);
  return (decided) => {
    const { decision } = decided;
    for (const stamped of JSON.parse(JSON.stringify(decision.transitions)) as Stamped[]) {
      const next = evolve(replayed, stamped);
      checkTransition(tally, { ...decided, stamped, from: replayed, to: next });
      replayed = next;
    }
    must(isDeepStrictEqual(replayed, decision.state), 'the state is the fold of the ledger (inv. 4)');
    stateRules(decided);
    shadowRules(decided);
    checkProviders(decided);
    answerRules(decided);
    must(isExhaustive(decided), 'a decision leaves nothing undone', decided.command);
  };
};
