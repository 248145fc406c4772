import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import type { RiskKind } from '../../shared/domain/at-risk.ts';
import { alertTerms, atRisk, byUrgency, endedAs, LATE_DELIVERY_SHOWN_MS, riskAt } from '../../shared/domain/at-risk.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import { channelStates, lastReadAt, nextAction } from '../../shared/domain/next-action.ts';
import { emptyState } from '../../shared/domain/state.ts';
import { examplePolicy } from './policies.ts';
import { anyLife, live } from './random-life.ts';
import { EVENT, accepted, lost, openAccepted, openWorld, reads, rejected, suppressed, unavailable } from './world.ts';
import type { World } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const policy = examplePolicy();
const open = (): World => openAccepted(policy);
const found = (world: World): RiskKind[] => atRisk(policy, world.state, world.now).map(({ kind }) => kind);

describe('a notification that goes its way', () => {
  it('is in no list, from its acceptance to its delivery, and never has an instant to be looked at', () => {
    const world = open();
    expect([found(world), riskAt(policy, world.state)]).toEqual([[], null]);
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(6 * SECOND);
    world.poll('sms', reads('pending'));
    expect([found(world), riskAt(policy, world.state)]).toEqual([[], null]);
    world.jumpTo(11 * SECOND);
    world.poll('sms', reads('delivered'));
    expect([found(world), riskAt(policy, world.state)]).toEqual([[], null]);
  });

  it('is in none while its provider is merely slow inside the deadline, nor once the next channel was accepted', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(29 * SECOND);
    world.poll('sms', reads('pending'));
    expect(found(world)).toEqual([]);
    world.runTo(30 * SECOND);
    expect(found(world)).toEqual([]);
    world.start('email');
    world.answer('email', accepted('M1'));
    world.runTo(14 * MINUTE);
    expect(found(world).filter((kind) => kind !== 'stalled')).toEqual([]);
  });

  it('is in none while a further channel is still to be claimed, although the first one is unknown', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', lost);
    world.jumpTo(25 * SECOND);
    expect([found(world), riskAt(policy, world.state)]).toEqual([[], null]);
  });
});

describe('a notification of which nothing can be sent', () => {
  it('uses up its reserve first, and is at risk from half of its life on; both end with it', () => {
    const world = open();
    world.runTo(31 * SECOND);
    expect(found(world)).toEqual([]);
    world.runTo(70 * SECOND);
    expect(found(world)).toEqual(['reserve_used', 'not_dispatched']);
    expect(nextAction(world.state, 'reserve_used', world)).toBe('restore_sending');
    expect(channelStates(world.state)).toEqual(['sms 1: cancelled (superseded)', 'email 1: queued']);
    world.runTo(7.5 * MINUTE - 1);
    expect(found(world)).not.toContain('at_risk');
    world.runTo(7.5 * MINUTE);
    expect(found(world)).toEqual(['not_dispatched', 'at_risk']);
    world.runTo(15 * MINUTE);
    expect([found(world), riskAt(policy, world.state)]).toEqual([[], null]);
  });

  it('is at risk no more as soon as a provider has taken it', () => {
    const world = open();
    world.runTo(8 * MINUTE);
    expect(found(world)).toContain('at_risk');
    world.start('email');
    // A call that is under way is no provider's word: what is tried again and again must not come and go.
    expect(found(world)).toContain('at_risk');
    world.answer('email', accepted('M1'));
    expect(found(world)).toEqual([]);
  });

  it('is at risk where it is paused, and may be resumed', () => {
    const world = open();
    world.jumpTo(2 * SECOND);
    world.pause();
    world.runTo(32 * SECOND);
    expect(found(world)).toContain('reserve_used');
    world.runTo(8 * MINUTE);
    expect([found(world).includes('at_risk'), nextAction(world.state, 'at_risk', world)]).toEqual([true, 'resume']);
    world.resume();
    expect(found(world)).not.toContain('at_risk');
  });

  it('is at risk where its last channel is unknown, and nothing may be sent again', () => {
    const world = open();
    world.runTo(30 * SECOND);
    world.start('email');
    world.answer('email', lost);
    world.runTo(8 * MINUTE);
    expect([found(world), nextAction(world.state, 'at_risk', world)]).toEqual([['reserve_used', 'at_risk'].slice(1), 'hold_unknown']);
    world.runTo(11 * MINUTE);
    expect(found(world)).toContain('unknown_too_long');
    expect(channelStates(world.state)[1]).toBe('email 1: submitted_unknown (lost_response)');
  });

  it('is at risk although it is settled, where an operator could still retry', () => {
    const world = openWorld({ policy: examplePolicy({ order: ['email'] }) });
    world.accept();
    world.start('email');
    world.answer('email', unavailable);
    expect(world.state.settledAt).not.toBeNull();
    world.jumpTo(8 * MINUTE);
    expect(atRisk(examplePolicy({ order: ['email'] }), world.state, world.now).map(({ kind }) => kind)).toEqual(['at_risk']);
    expect(nextAction(world.state, 'at_risk', world)).toBe('retry_dead_letter');
    // discarded: nobody finds it in a list to retry it
    expect(nextAction(world.state, 'at_risk', { now: world.now, isOpen: () => false })).toBe('reach_otherwise');
    world.jumpTo(15 * MINUTE);
    expect(atRisk(examplePolicy({ order: ['email'] }), world.state, world.now)).toEqual([]);
  });
});

describe('what else is to be known', () => {
  it('is what is due and was not taken up', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(59 * SECOND);
    // The fallback was due at 30 s, a poll at 5 s.
    expect(atRisk(policy, world.state, world.now)).toMatchObject([{ kind: 'stalled', attempt: world.attempt('sms').key }]);
    expect(nextAction(world.state, 'stalled', world)).toBe('restore_engine');
  });

  it('is a delivery that is heard of after the notification was closed, for a day', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(6 * SECOND);
    world.close();
    expect(found(world)).toEqual([]);
    world.jumpTo(11 * SECOND);
    world.poll('sms', reads('delivered'));
    expect([found(world), riskAt(policy, world.state), lastReadAt(world.state)]).toEqual([['delivered_after_close'], world.now, null]);
    world.jumpTo(11 * SECOND + LATE_DELIVERY_SHOWN_MS);
    expect(found(world)).toEqual([]);
  });

  it('is no delivery that came before it was closed', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    world.jumpTo(6 * SECOND);
    world.close();
    expect(found(world)).toEqual([]);
  });
});

describe('the thresholds', () => {
  it('are the policy\'s, each by itself', () => {
    const stated = examplePolicy({ policy: { alerts: { pageBeforeMs: 14 * MINUTE, dispatchWithinMs: 2 * SECOND, unknownForMs: 10 * SECOND, stalledForMs: 10 * SECOND } } });
    expect(alertTerms(stated)).toEqual({ pageBeforeMs: 14 * MINUTE, dispatchWithinMs: 2 * SECOND, stalledForMs: 10 * SECOND });
    const world = openWorld({ policy: stated });
    world.accept();
    world.start('sms');
    world.answer('sms', lost);
    world.runTo(29 * SECOND);
    expect(atRisk(stated, world.state, world.now).map(({ kind }) => kind)).toContain('unknown_too_long');
    expect(alertTerms(examplePolicy({ policy: { urgency: 'routine' } }))).toEqual({ pageBeforeMs: 7.5 * MINUTE, dispatchWithinMs: 300 * SECOND, stalledForMs: 300 * SECOND });
  });
});

test('whatever happens, what is found was laid for that instant, or is overdue', () => {
  fc.assert(fc.property(anyLife, fc.nat(1_200_000), (life, ahead) => {
    const world = live(life);
    const lived = examplePolicy({ policy: { strategy: life.strategy }, order: life.order, sms: { escalateWhen: life.escalateWhen }, email: { escalateWhen: life.escalateWhen } });
    let state = emptyState(EVENT);
    world.entries.forEach((entry, index) => {
      state = evolve(state, entry);
      // Between two entries of one decision nobody looks.
      if (world.entries[index + 1]?.at === entry.at) return;
      const now = entry.at + ahead;
      const risks = atRisk(lived, state, now);
      const [laid, decision] = [riskAt(lived, state), nextDecideAt(state)];
      if (risks.length === 0 || (laid !== null && laid <= now)) return;
      expect(risks.some(({ kind }) => kind === 'stalled') || (decision !== null && decision <= now)).toBe(true);
    });
  }), { numRuns: 120 });
}, 60_000);

describe('a notification all of whose channels failed for good', () => {
  /** A minute before its expiry, with the same answer on both channels. */
  const answeredTwice = (answer: typeof rejected | typeof suppressed) => {
    const world = open();
    for (const channel of ['sms', 'email'] as const) {
      world.start(channel);
      world.answer(channel, answer);
    }
    world.jumpTo(14 * MINUTE);
    return world;
  };

  it('is at risk until its expiry although it is settled, for an operator can still retry it or reach the recipient otherwise', () => {
    const world = answeredTwice(rejected);
    expect([world.state.settledAt !== null, found(world)]).toEqual([true, ['at_risk']]);
    expect(nextAction(world.state, 'at_risk', world)).toBe('reach_otherwise');
    expect([endedAs(world.state, world.now), endedAs(world.state, world.state.expiresAt)]).toEqual(['under_way', 'expired']);
    world.jumpTo(15 * MINUTE);
    expect(found(world)).toEqual([]);
  });

  it('is none where the recipient wants nothing on them', () => {
    const world = answeredTwice(suppressed);
    expect(found(world)).toEqual([]);
  });
});

describe('a policy that uses all of its channels', () => {
  const both = examplePolicy({ policy: { strategy: 'all' } });
  const stopped = (): World => {
    const world = openWorld({ policy: both });
    world.accept();
    for (const channel of ['sms', 'email'] as const) world.start(channel);
    world.answer('email', unavailable);
    world.answer('sms', accepted());
    return world;
  };

  it('keeps the dead letter of one when another is delivered, and has it at risk: neither replaces the other', () => {
    const world = stopped();
    const { requests } = world.poll('sms', reads('delivered'));
    expect(requests.filter(({ kind }) => kind === 'resolve_dead_letter')).toEqual([]);
    world.jumpTo(14 * MINUTE);
    expect(atRisk(both, world.state, world.now).map(({ kind }) => kind)).toEqual(['at_risk']);
    expect(nextAction(world.state, 'at_risk', world)).toBe('retry_dead_letter');
  });

  it('resolves the dead letter of a channel once that is delivered itself', () => {
    const world = openWorld({ policy: both });
    world.accept();
    for (const channel of ['sms', 'email'] as const) world.start(channel);
    world.answer('email', accepted('M1'));
    world.answer('sms', unavailable);
    world.retry('sms');
    world.start('sms');
    world.answer('sms', accepted());
    const { requests } = world.poll('sms', reads('delivered'));
    expect(requests.filter(({ kind }) => kind === 'resolve_dead_letter')).toEqual([{ kind: 'resolve_dead_letter', attempt: `${EVENT}.sms.1`, resolution: 'delivered' }]);
  });
});

test('what wants nobody comes after what does, however old it is; else the oldest is first', () => {
  const rows = [{ kind: 'delivered_after_close', since: 1 }, { kind: 'at_risk', since: 3 }, { kind: 'stalled', since: 2 }] as const;
  expect(rows.toSorted(byUrgency).map(({ kind }) => kind)).toEqual(['stalled', 'at_risk', 'delivered_after_close']);
});
