import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import type { RiskKind } from '../../shared/domain/at-risk.ts';
import { atRisk, riskAt, risksOf } from '../../shared/domain/at-risk.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import { channelStates, nextAction } from '../../shared/domain/next-action.ts';
import { pauseEndangers } from '../../shared/domain/permitted.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { examplePolicy } from './policies.ts';
import { anyLife, live } from './random-life.ts';
import { EVENT, accepted, openAccepted, openWorld, reads, rejected, suppressed, unavailable } from './world.ts';
import type { World } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SHADOW = { shadow: true } as const;
const ONLY_SHADOW = examplePolicy({ sms: SHADOW, email: SHADOW });
const found = (policy: Policy, world: World): RiskKind[] => atRisk(policy, world.state, world.now).map(({ kind }) => kind);

describe('a notification that runs in shadow as a whole', () => {
  it('is never at risk, whatever does not come to pass: no worker, no sweep, a pause', () => {
    const waiting = openAccepted(ONLY_SHADOW);
    waiting.runTo(14 * MINUTE);
    const unswept = openAccepted(ONLY_SHADOW);
    unswept.jumpTo(14 * MINUTE);
    const paused = openAccepted(ONLY_SHADOW);
    paused.pause();
    paused.runTo(14 * MINUTE);
    for (const world of [waiting, unswept, paused]) expect([found(ONLY_SHADOW, world), risksOf(ONLY_SHADOW, world.state), riskAt(ONLY_SHADOW, world.state)]).toEqual([[], [], null]);
    expect(pauseEndangers(ONLY_SHADOW, waiting.state, waiting.now)).toBeNull();
  });

  it('is none where its message could not be made either', () => {
    const world = openWorld({ policy: ONLY_SHADOW, render: () => ({ ok: false, reason: 'render_error' }) });
    world.accept();
    world.jumpTo(8 * MINUTE);
    expect(found(ONLY_SHADOW, world)).toEqual([]);
  });
});

describe('a channel in shadow beside a real one', () => {
  it('keeps nobody from being told: a shadow that waits can reach nobody', () => {
    const policy = examplePolicy({ sms: SHADOW });
    const world = openAccepted(policy);
    world.start('email');
    world.answer('email', unavailable);
    world.jumpTo(8 * MINUTE);
    expect(found(policy, world)).toContain('at_risk');
    expect(nextAction(world.state, 'at_risk', world)).toBe('retry_dead_letter');
    expect(channelStates(world.state)).toEqual(['sms 1: queued (shadow)', 'email 1: dead_lettered (provider_auth)']);
  });

  it('is no finding by itself once the real one has ended, however long its worker stays away', () => {
    const policy = examplePolicy({ email: SHADOW });
    const world = openAccepted(policy);
    world.start('sms');
    world.answer('sms', suppressed);
    world.jumpTo(8 * MINUTE);
    expect([world.state.settledAt, found(policy, world)]).toEqual([null, []]);
  });

  it('is no further channel: the acceptance of the last real one is all that is waited for', () => {
    const policy = examplePolicy({ email: SHADOW });
    const world = openAccepted(policy);
    world.start('email');
    world.start('sms');
    world.answer('sms', accepted());
    // The provider has sent it on, and nothing else is going to be heard or claimed.
    world.jumpTo(6 * SECOND);
    world.poll('sms', reads('accepted'));
    world.runTo(14 * MINUTE);
    expect(found(policy, world).filter((kind) => kind !== 'stalled')).toEqual([]);
  });

  it('does not make an expiry of what had failed before', () => {
    const policy = examplePolicy({ email: SHADOW });
    const world = openAccepted(policy);
    world.start('sms');
    world.answer('sms', rejected);
    world.runTo(15 * MINUTE);
    expect([world.attempt('email').state, world.status(), world.kinds().includes('NotificationExpired')]).toEqual(['expired', 'undelivered', false]);
  });
});

test('whatever happens, nothing that runs in shadow is found, and nothing of a notification that does so as a whole', () => {
  fc.assert(fc.property(anyLife, fc.nat(1_200_000), (life, ahead) => {
    const shadow = life.order[0] ?? 'sms';
    const world = live({ ...life, shadow });
    const step = (channel: Channel) => ({ escalateWhen: life.escalateWhen, ...(channel === shadow ? SHADOW : {}) });
    const policy = examplePolicy({ policy: { strategy: life.strategy }, order: life.order, sms: step('sms'), email: step('email') });
    let state = emptyState(EVENT);
    world.entries.forEach((entry, index) => {
      state = evolve(state, entry);
      // Between two entries of one decision nobody looks.
      if (world.entries[index + 1]?.at === entry.at) return;
      const shadows = new Set(state.attempts.filter(({ shadow }) => shadow).map(({ key }) => key));
      for (const risk of atRisk(policy, state, entry.at + ahead)) expect(risk.attempt === null || !shadows.has(risk.attempt)).toBe(true);
      if (state.steps.length > 0 && state.steps.every(({ shadow }) => shadow)) expect([atRisk(policy, state, entry.at + ahead), riskAt(policy, state)]).toEqual([[], null]);
    });
  }), { numRuns: 120 });
}, 60_000);
