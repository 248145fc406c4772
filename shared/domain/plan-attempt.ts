import type { Instant } from './words.ts';
import { attemptKeyOf } from './words.ts';
import type { Work } from './work.ts';
import { decisionDeadline, requeueInstant, stepOf } from './clocks.ts';
import type { AttemptState } from './state.ts';
import type { Capabilities } from './provider-answers.ts';
import type { Transition } from './transitions.ts';
import { withdraw } from './resubmission.ts';
import { laterSteps, opening } from './windows.ts';

type Planned = Extract<Transition, { kind: 'AttemptPlanned' }>['details'];
type Common = Pick<Planned, 'attempt' | 'step' | 'channel' | 'sequence' | 'origin' | 'provider' | 'template' | 'template_version' | 'decision_deadline_at'>;

/**
 * The entry of an attempt that was rendered, with what its provider can do for it, fixed with it: another carrier later alters nothing of what was
 * planned. Each member is named: putting the entry together from parts cost more than all else of planning it.
 */
const plannedDetails = (c: Common, can: Capabilities, { startsAt, renderHash }: { startsAt: Instant; renderHash: string }): Planned => ({
  attempt: c.attempt, step: c.step, channel: c.channel, sequence: c.sequence, origin: c.origin, provider: c.provider, template: c.template, template_version: c.template_version,
  decision_deadline_at: c.decision_deadline_at, status_by_poll: can.statusByPoll, can_look_up: can.reconcile === 'reference' || can.reconcile === 'heuristic', reconcile: can.reconcile,
  replay_within_ms: can.dedup === 'replay' ? can.replayWithinMs ?? null : null, visible_after_ms: can.reconcile === 'reference' ? can.visibleAfterMs ?? null : null,
  render_hash: renderHash, starts_at: startsAt,
});

/**
 * Plans the attempt of a step by policy, or by an operator's retry: renders it, fixes its hash and its absolute deadline, and
 * queues it, or has it wait for the end of its quiet hours, from which its deadline counts then. A step whose message cannot be rendered ends there,
 * as a dead letter (none in shadow); the escalation rule then looks at the next one.
 */
export const planStep = (work: Work, index: number, origin: AttemptState['origin'] = 'policy'): void => {
  const { now, policy, carriers, render } = work.input;
  const step = stepOf(policy, index);
  const sequence = work.state.attempts.filter((attempt) => attempt.channel === step.channel).length + 1;
  const attempt = attemptKeyOf(work.state.eventId, step.channel, sequence);
  const carrier = carriers[step.channel];
  const startsAt = opening(work, step.channel) ?? now;
  const common: Common = {
    attempt, step: index, channel: step.channel, sequence, origin, provider: carrier.name, template: step.template,
    template_version: step.templateVersion, decision_deadline_at: decisionDeadline(step, origin === 'policy' && !step.shadow ? laterSteps(work, index) : [], startsAt, work.state.expiresAt),
  };
  const rendered = render({ step, attemptKey: attempt, plannedAt: now });
  if (!rendered.ok) {
    work.emit({ kind: 'AttemptRenderFailed', details: { ...common, reason: rendered.reason, ...(step.shadow ? { shadow: step.shadow } : {}) } });
    if (!step.shadow) work.request({ kind: 'dead_letter', attempt, channel: step.channel, reason: rendered.reason });
    return;
  }
  const details = plannedDetails(common, carrier.capabilities, { startsAt, renderHash: rendered.hash });
  if (step.shadow) details.shadow = step.shadow;
  if (carrier.capabilities.reportsByMail) details.reports_by_mail = true;
  if (rendered.content) details.content = rendered.content;
  work.emit({ kind: 'AttemptPlanned', details });
  if (startsAt <= now) queueAttempt(work, work.attempt(attempt));
};

/** Queues a planned attempt: generation one, with the outbox row that carries it to its worker. */
export const queueAttempt = (work: Work, attempt: AttemptState): void => {
  const generation = attempt.generation + 1;
  const { now } = work.input;
  work.emit({ kind: 'AttemptQueued', details: { attempt: attempt.key, generation, requeue_at: requeueInstant(work.stepFor(attempt), now, 0) } });
  work.request({ kind: 'enqueue', attempt: attempt.key, channel: attempt.channel, generation, notBeforeAt: now });
};

/**
 * Takes an attempt back to the queue under a new generation, after a submission that was definitely not processed. While paused
 * nothing is enqueued: resuming does.
 */
export const requeueGeneration = (work: Work, attempt: AttemptState, retryAt: number): { generation: number; requeue_at: number; retry_at: number } => {
  const generation = attempt.generation + 1;
  if (!work.state.paused) work.request({ kind: 'enqueue', attempt: attempt.key, channel: attempt.channel, generation, notBeforeAt: retryAt });
  return { generation, retry_at: retryAt, requeue_at: requeueInstant(work.stepFor(attempt), retryAt, 0) };
};

export type DeadLetterReason = 'retries_exhausted' | 'provider_auth' | 'provider_account' | 'render_drift' | 'payload_destroyed' | 'carrier_changed' | 'artifact_damaged' | 'artifact_missing';

/** Gives up an attempt for want of an operator. One that may have been sent is not called failed: it stays unknown, and is held. */
export const deadLetter = (work: Work, attempt: AttemptState, reason: DeadLetterReason, maybeSent: boolean): void => {
  if (maybeSent) withdraw(work, attempt, reason, true);
  else work.emit({ kind: 'AttemptDeadLettered', details: { attempt: attempt.key, reason } });
  work.request({ kind: 'dead_letter', attempt: attempt.key, channel: attempt.channel, reason });
};
