import { attemptKeyOf } from './words.ts';
import type { Work } from './work.ts';
import { decisionDeadline, requeueInstant, stepOf } from './clocks.ts';
import type { AttemptState } from './state.ts';
import type { Capabilities } from './provider-answers.ts';
import { withdraw } from './resubmission.ts';
import { laterSteps, opening } from './windows.ts';

/** What its provider can do for an attempt, fixed with it: another carrier later alters nothing of what was planned. */
const bound = ({ statusByPoll, reconcile, dedup, replayWithinMs, visibleAfterMs, reportsByMail }: Capabilities) => ({
  status_by_poll: statusByPoll, can_look_up: reconcile === 'reference' || reconcile === 'heuristic', reconcile,
  replay_within_ms: dedup === 'replay' ? replayWithinMs ?? null : null, visible_after_ms: reconcile === 'reference' ? visibleAfterMs ?? null : null,
  ...(reportsByMail ? { reports_by_mail: reportsByMail } : {}),
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
  const common = {
    attempt, step: index, channel: step.channel, sequence, origin, provider: carrier.name, template: step.template,
    template_version: step.templateVersion, decision_deadline_at: decisionDeadline(step, origin === 'policy' && !step.shadow ? laterSteps(work, index) : [], startsAt, work.state.expiresAt),
    ...(step.shadow ? { shadow: step.shadow } : {}),
  };
  const rendered = render({ step, attemptKey: attempt, plannedAt: now });
  if (!rendered.ok) {
    work.emit({ kind: 'AttemptRenderFailed', details: { ...common, reason: rendered.reason } });
    if (!step.shadow) work.request({ kind: 'dead_letter', attempt, channel: step.channel, reason: rendered.reason });
    return;
  }
  work.emit({
    kind: 'AttemptPlanned',
    details: {
      ...common, ...bound(carrier.capabilities), render_hash: rendered.hash, starts_at: startsAt, ...(rendered.content ? { content: rendered.content } : {}),
    },
  });
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
