import { describe, expect, it } from '@jest/globals';
import type { AttemptState, NotificationState, StepState } from '../../shared/domain/state.ts';
import { emptyState } from '../../shared/domain/state.ts';
import { publicReason, publicStatus } from '../../shared/domain/status.ts';
import { EVENT, START } from './world.ts';

type Sketch = Partial<AttemptState>;
const attempt = (change: Sketch): AttemptState => ({
  key: `${EVENT}.sms.1`, step: 0, channel: 'sms', sequence: 1, origin: 'policy', state: 'queued', provider: 'twilio', statusByPoll: true, canLookUp: true,
  reconcile: 'heuristic', replayWithinMs: null, visibleAfterMs: null, firstSubmissionAt: null, unknownSubmissions: [], absentLookUps: 0, resubmitAt: null, resubmitUntil: null, held: false, corrected: false,
  providerMessageId: null, renderHash: null, plannedAt: START, startsAt: START, decisionDeadlineAt: START + 30_000, deadlinePassed: false, superseded: false,
  queuedAt: START, generation: 1, retryAt: null, requeueAt: null, requeues: 0, providerWaitAt: null, accountRefusals: 0, submissions: 0, submissionStartedAt: null, outcomeDueAt: null, submittedAt: null,
  polls: 0, pollsAfterDeadline: 0, failedReads: 0, nextPollAt: null, evidence: null, lookUntil: null, settledAt: null, reason: null, ...change,
});
const step = (phase: StepState['phase']): StepState => ({ channel: 'sms', phase, reason: phase === 'skipped' ? 'no_consent' : null });
const state = (attempts: Sketch[], steps: StepState['phase'][], change: Partial<NotificationState> = {}): NotificationState => ({
  ...emptyState(EVENT), version: 9, expiresAt: START + 900_000, reconcileUntil: START + 1_500_000, steps: steps.map(step), attempts: attempts.map(attempt), ...change,
});

const closed = { closed: { reason: 'taken', at: START } };
const all = { strategy: 'all' as const };
const settled = { settledAt: START + 1_000 };
const sms = (change: Sketch): Sketch => ({ ...change });
const email = (change: Sketch): Sketch => ({ key: `${EVENT}.email.1`, channel: 'email', step: 1, ...change });
const submitted: Sketch = { state: 'submitted', submittedAt: START };
const handedOver: Sketch = { ...submitted, settledAt: START + 500 };

const TABLE: [string, ReturnType<typeof state>, string][] = [
  ['a region without a policy, before all else', state([{ state: 'delivered' }], ['started'], { rejected: 'region', ...closed }), 'policy_rejected'],
  ['all: every channel delivered', state([sms({ state: 'delivered' }), email({ state: 'delivered' })], ['started', 'started'], all), 'delivered'],
  ['all: every channel that was not skipped delivered', state([sms({ state: 'delivered' })], ['started', 'skipped'], all), 'delivered'],
  ['all: some delivered while others are under way', state([sms({ state: 'delivered' }), email({})], ['started', 'started'], all), 'partially_delivered'],
  ['all: some delivered, and closed', state([sms({ state: 'delivered' }), email({ state: 'cancelled' })], ['started', 'started'], { ...all, ...closed }), 'partially_delivered'],
  ['escalate: delivered on the first channel', state([sms({ state: 'delivered' })], ['started', 'dropped'], settled), 'delivered'],
  ['escalate: delivered late, the email was handed over too', state([sms({ state: 'delivered', superseded: true }), email(handedOver)], ['started', 'started']), 'delivered'],
  ['delivered goes before closed', state([sms({ state: 'delivered' })], ['started'], closed), 'delivered'],
  ['closed goes before what was sent', state([sms(submitted)], ['started', 'dropped'], closed), 'closed'],
  ['closed with a call in flight', state([sms({ state: 'submitting', submissions: 1 })], ['started'], closed), 'closed'],
  ['queued, nothing submitted yet', state([sms({})], ['started', 'waiting']), 'accepted'],
  ['rejected, the next one queued: still nothing submitted', state([sms({ state: 'rejected', superseded: true }), email({})], ['started', 'started']), 'accepted'],
  ['a call under way', state([sms({ state: 'submitting', submissions: 1 })], ['started', 'waiting']), 'in_progress'],
  ['submitted, its deadline still ahead', state([sms(submitted)], ['started', 'waiting']), 'in_progress'],
  ['handed over for good, but the next step may still be claimed', state([sms(handedOver)], ['started', 'waiting']), 'in_progress'],
  ['unknown, its deadline still ahead', state([sms({ state: 'submitted_unknown' })], ['started', 'waiting']), 'in_progress'],
  ['superseded, the email queued', state([sms({ ...submitted, superseded: true }), email({})], ['started', 'started']), 'in_progress'],
  ['the mail server has it, the SMS never confirmed', state([sms({ ...submitted, superseded: true }), email(handedOver)], ['started', 'started']), 'sent'],
  ['submitted, its deadline passed without a claim', state([sms({ ...submitted, deadlinePassed: true })], ['started', 'waiting']), 'sent'],
  ['submitted goes before unknown', state([sms({ state: 'submitted_unknown', superseded: true }), email(handedOver)], ['started', 'started']), 'sent'],
  ['submitted goes before expired', state([sms({ ...submitted, superseded: true }), email({ state: 'expired' })], ['started', 'started'], { expired: true }), 'sent'],
  ['unknown, the email refused', state([sms({ state: 'submitted_unknown', superseded: true }), email({ state: 'rejected' })], ['started', 'started']), 'unknown'],
  ['unknown goes before expired', state([sms({ state: 'submitted_unknown', superseded: true }), email({ state: 'expired' })], ['started', 'started'], { expired: true }), 'unknown'],
  ['expired before anything was submitted', state([sms({ state: 'expired' })], ['started', 'dropped'], { expired: true, ...settled }), 'expired'],
  ['a retry that ended at expiry', state([sms({ state: 'expired' })], ['started'], settled), 'expired'],
  ['every step skipped', state([], ['skipped', 'skipped'], settled), 'suppressed'],
  ['rejected everywhere', state([sms({ state: 'rejected' }), email({ state: 'dead_lettered' })], ['started', 'started'], settled), 'undelivered'],
  ['suppressed by the provider, the other one skipped', state([sms({ state: 'suppressed' })], ['started', 'skipped'], settled), 'undelivered'],
];

describe('the public status is the first that matches', () => {
  it.each(TABLE)('%s', (_, given, expected) => {
    expect(publicStatus(given)).toBe(expected);
  });
});

describe('the reason of what was not sent at all', () => {
  const barred = email({ state: 'suppressed', reason: 'consent_withdrawn', settledAt: START });
  it.each<[string, NotificationState, ReturnType<typeof publicReason>]>([
    ['a refusal', state([], [], { rejected: 'region' }), { reason: 'region', skipped: [] }],
    ['every step skipped', state([], ['skipped', 'skipped'], settled), { reason: 'no_consent', skipped: [{ channel: 'sms', reason: 'no_consent' }, { channel: 'sms', reason: 'no_consent' }] }],
    ['one skipped, the other barred before it was submitted: that of the last', { ...state([barred], ['skipped', 'started'], settled), steps: [step('skipped'), { ...step('started'), channel: 'email' }] },
      { reason: 'consent_withdrawn', skipped: [{ channel: 'sms', reason: 'no_consent' }, { channel: 'email', reason: 'consent_withdrawn' }] }],
  ])('is told of %s', (_, given, expected) => {
    expect(publicReason(given)).toEqual(expected);
  });

  it('is none where anything was tried', () => {
    for (const [, given, status] of TABLE) if (status !== 'policy_rejected' && status !== 'suppressed') expect(publicReason(given)).toBeNull();
  });
});
