import { describe, expect, it } from '@jest/globals';
import type { Command } from '../../shared/domain/decide.ts';
import { decide } from '../../shared/domain/decide.ts';
import type { ExplainedEntry } from '../../shared/domain/explain.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import { emptyState } from '../../shared/domain/state.ts';
import { CARRIERS, carriersFor } from '../../shared/transports/carriers.ts';
import { shippedPolicies } from '../support/test-engine.ts';

const EVENT = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const START = Date.UTC(2026, 10, 29, 10);
const keys = { sms: `${EVENT}.sms.1`, email: `${EVENT}.email.1` };
const shipped = (purpose: string, step: Partial<PolicyStep> = {}): Policy => {
  const policy = shippedPolicies().findLast((one) => one.purpose === purpose) as Policy;
  return { ...policy, steps: policy.steps.map((one, index) => (index === 0 ? { ...one, ...step } : one)) };
};
const POLLED = carriersFor({ sms: 'twilio', email: 'resend' });

interface How {
  policy: Policy; acts?: [afterMs: number, command: Command][]; carriers?: typeof CARRIERS; precondition?: 'send' | 'hold';
  /** From when on the throttle of SMS is full. */
  fullAfterMs?: number;
}

const explained = ({ policy, acts = [], carriers = POLLED, fullAfterMs = Infinity, precondition }: How): string[] => {
  let state = emptyState(EVENT);
  const entries: ExplainedEntry[] = [];
  const accept: Command = { kind: 'accept', intent: { region: 'US', requestedAt: START, expiresAt: null, barred: {}, recipientCommitment: 'c', ...(precondition ? { onPreconditionError: precondition } : {}) } };
  for (const [afterMs, command] of [[0, accept], ...acts] as NonNullable<How['acts']>) {
    const eligibility = (channel: string) => (channel === 'sms' && afterMs >= fullAfterMs ? 'throttled' : null);
    const decision = decide(command, state, { now: START + afterMs, random: () => 0.5, policy, carriers, eligibility, render: () => ({ ok: true, hash: 'h' }) });
    state = decision.state;
    entries.push(...decision.transitions.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details })));
  }
  return explain(state, entries, policy);
};
const last = (how: How): string => explained(how).at(-1) as string;

const tick: Command = { kind: 'tick' };
const taken = (channel: 'sms' | 'email'): [number, Command][] => [
  [100, { kind: 'start_submission', attempt: keys[channel] }], [200, { kind: 'record_submission', attempt: keys[channel], submission: 1, result: { kind: 'accepted', providerMessageId: 'M1' } }],
];
const seen = (channel: 'sms' | 'email', outcome: 'accepted' | 'delivered' | 'undelivered'): Command =>
  ({ kind: 'record_status', attempt: keys[channel], reading: { kind: 'observed', outcome, reason: outcome === 'undelivered' ? 'carrier_failed' : null } });
const RESET = shipped('password-reset');
const accepted: [number, Command][] = [...taken('email'), [57_000, seen('email', 'accepted')]];

describe('what is said of a channel that was not used', () => {
  it('is, while the deadline lies ahead, when it is decided', () => {
    expect(last({ policy: RESET, acts: accepted })).toBe('SMS was not used so far: whether it is claimed is decided by what is known of email, at 2026-11-29T10:01:00Z at the latest.');
  });

  it('is no deadline that is past: a reset whose email was accepted has no text, and only a bounce before expiry would still claim one', () => {
    const acts: [number, Command][] = [...accepted, [60_000, tick]];
    expect(last({ policy: RESET, acts })).toBe('SMS was not used: the decision deadline of email, 2026-11-29T10:01:00Z, has passed, and policy password-reset/1 escalates on pending, unknown and failed only; '
      + 'a definite failure of email, such as a bounce, that is heard before expiry, 2026-11-29T10:15:00Z, would still claim it.');
    // It is true: the bounce does.
    expect(explained({ policy: RESET, acts: [...acts, [300_000, seen('email', 'undelivered')]] })).toContain(
      'Email had ended as *undelivered*, a definite failure, and policy password-reset/1 escalates on pending, unknown and failed: so SMS was claimed at once, at 2026-11-29T10:05:00Z.');
    // And only before expiry.
    expect(explained({ policy: RESET, acts: [...acts, [900_000, tick], [901_000, seen('email', 'undelivered')]] }).join('\n')).not.toMatch(/SMS was claimed/);
  });

  it('is the end of it where no more is heard of an email that plain SMTP took', () => {
    expect(last({ policy: RESET, acts: taken('email'), carriers: CARRIERS })).toBe(
      'SMS was not used: email stands as *accepted*, nothing more is expected of it, and policy password-reset/1 escalates on pending, unknown and failed only.');
  });

  it('is that nothing later counts, where the policy does not escalate on failures either', () => {
    const policy = shipped('password-reset', { escalateWhen: ['unknown'] });
    expect(last({ policy, acts: [...accepted, [60_000, tick]] })).toBe('SMS was not used: the decision deadline of email, 2026-11-29T10:01:00Z, has passed, and policy password-reset/1 escalates on unknown only; '
      + 'nothing that is heard of email later claims it.');
  });

  it('is, while paused, that the decision comes with the resume where its deadline is past by then', () => {
    const acts: [number, Command][] = [...accepted, [58_000, { kind: 'pause', reason: 'maintenance' }], [70_000, tick]];
    expect(last({ policy: RESET, acts })).toBe('SMS was not used so far: nothing is claimed while paused; once resumed, whether it is claimed is decided by what is known of email, at 2026-11-29T10:01:00Z, or at once where that is past.');
    expect(last({ policy: RESET, acts: [...acts, [80_000, seen('email', 'undelivered')]] })).toBe('SMS was not used so far: nothing is claimed while paused; once resumed, it is claimed, since email ended as *undelivered*.');
  });

  it('is what the origin system is waited for, where it is asked before the claim', () => {
    const policy = shipped('seller-order');
    const [first] = policy.steps;
    const acts: [number, Command][] = [...taken(first?.channel ?? 'email'), [(first?.decideWithinMs ?? 0) + 10_000, tick]];
    expect(explained({ policy, acts, precondition: 'hold', carriers: CARRIERS }).at(-1)).toMatch(/^SMS was not used so far: the answer of the origin system is waited for, until \S+Z; then, whether it is claimed is decided by what is known of email, at \S+, or at once where that is past\.$/);
  });

  it('stands, for every shipped purpose that escalates, in no sentence about a deadline that has passed', () => {
    for (const policy of shippedPolicies().filter(({ strategy, steps }) => strategy === 'escalate' && steps.length > 1)) {
      const first = policy.steps[0] as PolicyStep;
      for (const carriers of [POLLED, CARRIERS]) {
        const acts: [number, Command][] = [...taken(first.channel), [first.decideWithinMs - 1, seen(first.channel, 'accepted')], [first.decideWithinMs, tick], [first.decideWithinMs + first.lookWithinMs, tick]];
        expect(explained({ policy, acts, carriers }).filter((text) => text.includes('is decided by'))).toEqual([]);
      }
    }
  });
});

describe('a throttled step', () => {
  const policy = shipped('game-support-urgent', { throttle: { most: 5, withinMs: 300_000 } });
  const version = policy.version;

  it('says how many are let through within what time, by which version, and what came instead', () => {
    expect(explained({ policy, fullAfterMs: 0 })[1]).toBe(
      `SMS, step 1 of policy game-support-urgent/${version}, was skipped at 2026-11-29T10:00:00Z (throttled): its destination had the 5 that policy game-support-urgent/${version} lets through within 5 min, so email was started instead.`);
  });

  it('says so too of what was planned before the throttle was full', () => {
    expect(explained({ policy, fullAfterMs: 1_000, acts: [[1_000, tick]] })).toContain(
      `SMS was not submitted at 2026-11-29T10:00:01Z (throttled; Tocsin found so itself): its destination had the 5 that policy game-support-urgent/${version} lets through within 5 min, so email was started instead. Nothing of it was sent.`);
  });

  it('says where nothing is left to come instead', () => {
    expect(explained({ policy: { ...policy, steps: policy.steps.slice(0, 1) }, fullAfterMs: 0 })[1]).toMatch(/lets through within 5 min, so no later channel was left for it\.$/);
  });
});
