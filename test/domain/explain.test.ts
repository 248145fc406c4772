import { describe, expect, it } from '@jest/globals';
import type { Command } from '../../shared/domain/decide.ts';
import { decide } from '../../shared/domain/decide.ts';
import type { ExplainedEntry } from '../../shared/domain/explain.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Eligibility } from '../../shared/domain/eligibility.ts';
import type { Intent } from '../../shared/domain/lifecycle.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { RenderOutcome } from '../../shared/domain/work.ts';

const EVENT = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const SMS = `${EVENT}.sms.1`;
const EMAIL = `${EVENT}.email.1`;
const START = Date.UTC(2026, 10, 29, 10, 0, 0);

const step = (channel: 'sms' | 'email', more: Partial<PolicyStep>): PolicyStep => ({
  name: channel, channel, template: `note-${channel}`, templateVersion: 1, pollOffsetsMs: channel === 'sms' ? [5_000, 10_000, 20_000] : [], pollJitter: 0,
  finalPollLeadMs: 2_000, decideWithinMs: 30_000, reserveMs: channel === 'email' ? 60_000 : 0, escalateWhen: ['pending', 'accepted', 'unknown', 'failed'], onUnknown: 'hold',
  maxObservationAgeMs: 10_000, lookWithinMs: 3_000, transportRetry: { maxSubmissions: 2, baseMs: 1_000, capMs: 10_000 }, submitLimitMs: 15_000, requeueAfterMs: 5_000, ...more,
});
const policyWith = (sms: Partial<PolicyStep> = {}): Policy => ({
  purpose: 'game-support-urgent', version: 1, strategy: 'escalate', urgency: 'urgent', classification: 'transactional', regions: { US: { consent: {} } },
  expiresAfterMs: 900_000, reconcileGraceMs: 600_000, reconcileEveryMs: 5_000, reconcileCapMs: 60_000, retentionMs: 86_400_000,
  steps: [step('sms', sms), step('email', { decideWithinMs: 600_000 })],
});

type Act = [afterMs: number, command: Command];

/** Plays commands at their instants, through the decider, and explains what came of them. */
const explained = (acts: Act[], how: { policy?: Policy; barred?: Intent['barred']; region?: string; expiresAt?: number; render?: (key: string) => RenderOutcome; eligibility?: Eligibility } = {}): string[] => {
  const policy = how.policy ?? policyWith();
  let state = emptyState(EVENT);
  const entries: ExplainedEntry[] = [];
  const intent: Intent = { region: how.region ?? 'US', requestedAt: START, expiresAt: how.expiresAt ?? null, barred: how.barred ?? {}, recipientCommitment: 'c' };
  for (const [afterMs, command] of [[0, { kind: 'accept', intent }], ...acts] as Act[]) {
    const decision = decide(command, state, {
      now: START + afterMs, random: () => 0.5, policy,
      carriers: {
        sms: { name: 'twilio', capabilities: { dedup: 'none', reconcile: 'heuristic', evidence: 'carrier', statusByPoll: true } },
        email: { name: 'smtp', capabilities: { dedup: 'none', reconcile: 'none', evidence: 'none', statusByPoll: false } },
      },
      eligibility: how.eligibility ?? (() => null),
      render: ({ attemptKey }) => how.render?.(attemptKey) ?? { ok: true, hash: 'h' },
    });
    state = decision.state;
    entries.push(...decision.transitions.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details })));
  }
  return explain(state, entries, policy);
};

const start = (attempt: string): Command => ({ kind: 'start_submission', attempt });
const accepted = (attempt: string, submission = 1): Command => ({ kind: 'record_submission', attempt, submission, result: { kind: 'accepted', providerMessageId: 'SM1' } });
const seen = (attempt: string, outcome: 'pending' | 'accepted' | 'delivered' | 'undelivered'): Command =>
  ({ kind: 'record_status', attempt, reading: { kind: 'observed', outcome, reason: outcome === 'undelivered' ? 'carrier_failed' : null } });
const tick: Command = { kind: 'tick' };

const ACCEPTED = 'The notification was accepted at 2026-11-29T10:00:00Z under policy game-support-urgent/1 (strategy escalate: SMS, then email); it expires at 2026-11-29T10:15:00Z.';
const PLANNED = 'SMS was planned at 2026-11-29T10:00:00Z as step 1 of policy game-support-urgent/1, with template note-sms/1 and the decision deadline 2026-11-29T10:00:30Z.';
const SUBMITTED = 'SMS was submitted to twilio at 2026-11-29T10:00:01Z (submission 1) and taken there at 2026-11-29T10:00:01.200Z.';

describe('explain', () => {
  it('says of an escalation what was last heard, at which deadline, and by which rule email was claimed', () => {
    expect(explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [28_000, seen(SMS, 'accepted')], [30_000, tick], [31_000, start(EMAIL)], [31_500, accepted(EMAIL)]])).toEqual([
      ACCEPTED, PLANNED, SUBMITTED,
      'SMS was submitted at 2026-11-29T10:00:01Z; the provider last said *accepted* at 2026-11-29T10:00:28Z; at the decision deadline 2026-11-29T10:00:30Z this did not count as delivered, '
        + 'and policy game-support-urgent/1 escalates on pending, accepted, unknown and failed: so email was claimed at 2026-11-29T10:00:30Z.',
      'Email was planned at 2026-11-29T10:00:30Z as step 2 of policy game-support-urgent/1, with template note-email/1 and the decision deadline 2026-11-29T10:10:30Z.',
      'Email was submitted to smtp at 2026-11-29T10:00:31Z (submission 1) and taken there at 2026-11-29T10:00:31.500Z; this transport says nothing more, so *sent* is all that can be known of it.',
      expect.stringMatching(/^The provider last said \*accepted\* about SMS, at 2026-11-29T10:00:28Z; it is asked again at /),
    ]);
  });

  it('tells of what waited for the database when it was said, and when it was recorded', () => {
    const late: Command = { kind: 'record_submission', attempt: SMS, submission: 1, result: { kind: 'accepted', providerMessageId: 'SM1' }, answeredAt: START + 1_200 };
    const polled: Command = { kind: 'record_status', attempt: SMS, reading: { kind: 'observed', outcome: 'accepted', reason: null }, askedAt: START + 15_000 };
    const texts = explained([[1_000, start(SMS)], [14_000, late], [29_000, polled], [30_000, tick]]);
    expect(texts[2]).toBe(`${SUBMITTED.slice(0, -1)} (recorded at 2026-11-29T10:00:14Z).`);
    expect(texts[3]).toBe('At the decision deadline 2026-11-29T10:00:30Z the newest observation of SMS, of 2026-11-29T10:00:15Z, was older than 10 s, so one more look was asked for, until 2026-11-29T10:00:33Z.');
    expect(texts[4]).toMatch(/^The provider last said \*accepted\* about SMS, at 2026-11-29T10:00:15Z; /);
  });

  it('says that a delivered SMS spared the email', () => {
    expect(explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [6_200, seen(SMS, 'delivered')]])).toEqual([
      ACCEPTED, PLANNED, SUBMITTED,
      'SMS was confirmed *delivered* at 2026-11-29T10:00:06.200Z (heard by poll), so email was not needed.',
      'The notification settled at 2026-11-29T10:00:06.200Z as *delivered*.',
    ]);
  });

  it('says that a late delivery after the fallback is a double contact', () => {
    const late = explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [28_000, seen(SMS, 'accepted')], [30_000, tick], [31_000, start(EMAIL)], [31_500, accepted(EMAIL)], [45_000, seen(SMS, 'delivered')]]);
    expect(late).toContain('SMS was confirmed *delivered* at 2026-11-29T10:00:45Z (heard by poll), late: email had been claimed before. Both stand and nothing is retracted; this is a double contact.');
  });

  it('says whose word a failure is, and that it claimed email at once', () => {
    const texts = explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [6_200, seen(SMS, 'undelivered')]]);
    expect(texts.slice(3, 5)).toEqual([
      'SMS ended as *undelivered* at 2026-11-29T10:00:06.200Z (carrier_failed; the provider said so; heard by poll).',
      'SMS had ended as *undelivered*, a definite failure, and policy game-support-urgent/1 escalates on pending, accepted, unknown and failed: so email was claimed at once, at 2026-11-29T10:00:06.200Z.',
    ]);
  });

  it('says that a claim rests on stale evidence where one more look brought nothing', () => {
    const texts = explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [6_200, seen(SMS, 'accepted')], [30_000, tick], [33_000, tick]]);
    expect(texts[3]).toBe('At the decision deadline 2026-11-29T10:00:30Z the newest observation of SMS, of 2026-11-29T10:00:06.200Z, was older than 10 s, so one more look was asked for, until 2026-11-29T10:00:33Z.');
    expect(texts[4]).toMatch(/so email was claimed at 2026-11-29T10:00:33Z \(one more look was asked for and brought nothing in time, so the claim rests on an observation older than the 10 s that the policy allows\)\.$/);
  });

  it('says of a deadline that expiry draws closer how much time is left of the policy\'s own, and for what', () => {
    const texts = explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [2_000, tick]], { expiresAt: START + 62_000 });
    expect(texts[1]).toBe(PLANNED.replace('10:00:30Z.', '10:00:02Z (2 s after its start and not 30 s, since the notification expires at 2026-11-29T10:01:02Z, before which time is kept for email).'));
    expect(texts.find((one) => one.startsWith('Email was planned'))).toMatch(/^Email was planned at .* \(1 min after its start and not 10 min, since the notification expires at 2026-11-29T10:01:02Z\)\.$/);
  });

  it('says of an unknown submission what the policy does about it, and of an adopted one that nothing was sent again', () => {
    const asked = { at: START, reads: 0 };
    const unknown: Command = { kind: 'record_submission', attempt: SMS, submission: 1, result: { kind: 'unknown', reason: 'lost_response' } };
    const found: Command = { kind: 'record_look_up', attempt: SMS, result: { kind: 'found', providerMessageId: 'SM1', outcome: 'accepted', reason: null }, asked };
    const several: Command = { kind: 'record_look_up', attempt: SMS, result: { kind: 'several', matches: 2 }, asked };
    const texts = explained([[1_000, start(SMS)], [2_000, unknown], [6_000, several], [7_000, found]]);
    expect(texts.slice(2, 5)).toEqual([
      'Whether submission 1 of SMS was sent is unknown since 2026-11-29T10:00:02Z (lost_response; Tocsin found so itself). Policy game-support-urgent/1 says on_unknown: hold, so it is never sent again on a guess; '
        + 'the provider is searched for it by its reference until 2026-11-29T10:25:00Z.',
      'A look-up at 2026-11-29T10:00:06Z found several messages that could be SMS, so none was adopted and it stays unknown.',
      'A look-up by its reference found SMS at the provider at 2026-11-29T10:00:07Z, as *accepted*: it was adopted, and nothing was sent again.',
    ]);
  });

  it('says of an unknown SMS at its deadline that it counted as unknown', () => {
    const unknown: Command = { kind: 'record_submission', attempt: SMS, submission: 1, result: { kind: 'unknown', reason: 'request_timeout' } };
    expect(explained([[1_000, start(SMS)], [2_000, unknown], [30_000, tick], [33_000, tick]]).join('\n'))
      .toMatch(/SMS was submitted at 2026-11-29T10:00:01Z, and whether it was sent was unknown \(request_timeout; Tocsin found so itself\); at the decision deadline 2026-11-29T10:00:30Z this counted as \*unknown\*/);
  });

  it('says why a policy did not escalate on acceptance', () => {
    const policy = policyWith({ escalateWhen: ['failed'] });
    expect(explained([[1_000, start(SMS)], [1_200, accepted(SMS)], [28_000, seen(SMS, 'accepted')], [30_000, tick]], { policy })).toContain(
      'The decision deadline of SMS, 2026-11-29T10:00:30Z, passed with *accepted*, and policy game-support-urgent/1 escalates on failed only: so email was not claimed.');
  });

  it('says why a step was skipped, and that nothing was used where the region is not covered', () => {
    expect(explained([], { barred: { sms: 'no_consent' } })[1])
      .toBe('SMS, step 1 of policy game-support-urgent/1, was skipped at 2026-11-29T10:00:00Z (no_consent): there is no consent or other basis that the policy accepts for it.');
    expect(explained([], { region: 'AQ' })).toEqual(["The notification was refused at 2026-11-29T10:00:00Z (region): policy game-support-urgent/1 does not cover the recipient's region, so no channel was used."]);
  });

  it('counts requeues and failed reads once, and tells retries one by one', () => {
    const deferred: Command = { kind: 'record_submission', attempt: SMS, submission: 1, result: { kind: 'deferred', reason: 'rate_limited', retryAfterMs: 4_000 } };
    const readFailed: Command = { kind: 'record_status', attempt: SMS, reading: { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null } };
    const texts = explained([[5_000, tick], [15_000, tick], [16_000, start(SMS)], [16_100, deferred], [21_000, start(SMS)], [21_200, accepted(SMS, 2)], [23_000, readFailed], [25_000, readFailed]]);
    expect(texts.slice(2, 6)).toEqual([
      'SMS was put into its queue again 2 time(s), since no worker had started it (last at 2026-11-29T10:00:15Z).',
      'Submission 1 of SMS was definitely not processed at 2026-11-29T10:00:16.100Z (rate_limited; the provider said so), so it is tried again under the same attempt key, not before 2026-11-29T10:00:20.100Z.',
      'SMS was submitted to twilio at 2026-11-29T10:00:21Z (submission 2) and taken there at 2026-11-29T10:00:21.200Z.',
      '2 status read(s) of SMS failed (last at 2026-11-29T10:00:25Z; read_failed; Tocsin found so itself); a failed read is no evidence and claims nothing.',
    ]);
  });

  it('says that an attempt with nothing at the provider was cancelled by the claim', () => {
    const texts = explained([[30_000, tick]]);
    expect(texts).toContain('Nothing of SMS was at the provider and it was still queued; at the decision deadline 2026-11-29T10:00:30Z this did not count as delivered, '
      + 'and policy game-support-urgent/1 escalates on pending, accepted, unknown and failed: so email was claimed at 2026-11-29T10:00:30Z.');
    expect(texts).toContain('SMS was cancelled at 2026-11-29T10:00:30Z (superseded): nothing of it was at the provider when the later channel was claimed, so it can no longer reach anyone.');
  });

  it('says that a closed notification spared the email, and what was in flight', () => {
    expect(explained([[1_000, start(SMS)], [1_100, { kind: 'close', reason: 'taken' }]])).toContain(
      'The notification was closed at 2026-11-29T10:00:01.100Z (taken): nothing is submitted any more, and email was not used. One call was in flight at that instant and may still arrive.');
    expect(explained([[1_000, { kind: 'close', reason: 'taken' }]])).toContain(
      'SMS was cancelled at 2026-11-29T10:00:01Z (closed): the notification was closed before anything of it was at the provider.');
  });

  it('says what expiry cut off', () => {
    const texts = explained([[900_000, tick]]);
    expect(texts).toContain('The notification expired at 2026-11-29T10:15:00Z: nothing is started any more, and email was not used.');
    expect(texts).toContain('SMS expired at 2026-11-29T10:15:00Z before anything of it was at the provider.');
  });

  it('names dead letters: used-up retries and what cannot be rendered', () => {
    const auth: Command = { kind: 'record_submission', attempt: SMS, submission: 1, result: { kind: 'provider_unavailable', reason: 'provider_auth' } };
    expect(explained([[1_000, start(SMS)], [1_200, auth]])).toContain(
      'SMS stopped at 2026-11-29T10:00:01.200Z after 1 submission(s) (provider_auth; the provider said so); it is a dead letter that an operator must look at.');
    expect(explained([], { render: (key) => (key === SMS ? { ok: false, reason: 'render_error' } : { ok: true, hash: 'h' }) })[1]).toBe(
      'SMS, step 1 of policy game-support-urgent/1, could not be rendered at 2026-11-29T10:00:00Z (render_error; Tocsin found so itself): it was never sent and is a dead letter that an operator must look at.');
  });

  it('ends with what is open: the live attempt, and who decides about the unused channel when', () => {
    expect(explained([[1_000, start(SMS)]]).slice(-2)).toEqual([
      'A submission of SMS was started at 2026-11-29T10:00:01Z; its answer is awaited until 2026-11-29T10:00:16Z, and is unknown after that.',
      'Email was not used so far: whether it is claimed is decided by what is known of SMS, at 2026-11-29T10:00:30Z at the latest.',
    ]);
  });

  it('refuses entries that contradict themselves', () => {
    expect(() => explain(emptyState(EVENT), [{ at: START, kind: 'AttemptDelivered', details: { attempt: SMS, source: 'poll', reason: null } }], policyWith())).toThrow('never planned');
  });
});
