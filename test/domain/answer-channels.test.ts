import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import type { ChannelAnswer } from '../../shared/domain/answer-channels.ts';
import { answerChannels } from '../../shared/domain/answer-channels.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import type { ExplainedEntry } from '../../shared/domain/explain.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { examplePolicy } from './policies.ts';
import { anyLife, live } from './random-life.ts';
import { EVENT, accepted, deferred, lost, openAccepted, openWorld, reads, rejected } from './world.ts';
import type { World } from './world.ts';

const entriesOf = (world: World): ExplainedEntry[] => world.entries.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details as never }));
const answers = (world: World, policy: Policy): ChannelAnswer[] => answerChannels(world.state, entriesOf(world), policy);
const codes = (world: World, policy: Policy): string[] => answers(world, policy).map(({ channel, used, cause }) => `${channel} ${used ? 'used' : 'not'}: ${cause}`);

describe('the answer of a channel', () => {
  it('changes with what happens, and always names what comes next or what was seen', () => {
    const policy = examplePolicy();
    const world = openAccepted(policy);
    expect(codes(world, policy)).toEqual(['sms not: waiting', 'email not: not_due']);
    world.start('sms');
    expect(codes(world, policy)).toEqual(['sms used: first_step', 'email not: not_due']);
    expect(answers(world, policy).map(({ text }) => text)).toEqual([
      'SMS, step 1 of policy example/1, was used because it is the first one, which starts with the acceptance, at 2026-01-05T12:00:00Z; a submission of it was started at 2026-01-05T12:00:00Z, and its answer is awaited.',
      'Email, step 2 of policy example/1, was not used so far because it has its turn only by what becomes of SMS, at 2026-01-05T12:00:30Z at the latest; a submission of SMS was started at 2026-01-05T12:00:00Z, and its answer is awaited.',
    ]);
    world.answer('sms', accepted());
    world.jumpTo(6_000);
    world.poll('sms', reads('delivered'));
    expect(codes(world, policy)).toEqual(['sms used: first_step', 'email not: delivered']);
  });

  it('is *used* where it may have been sent, or was refused, and not where nothing of it was ever processed', () => {
    const policy = examplePolicy();
    const [unknown, refused, throttled] = [openAccepted(policy), openAccepted(policy), openAccepted(policy)];
    for (const [world, answer] of [[unknown, lost], [refused, rejected], [throttled, deferred(3_600_000)]] as const) {
      world.start('sms');
      world.answer('sms', answer);
      world.runTo(31_000);
    }
    expect([unknown, refused, throttled].map((world) => codes(world, policy)[0])).toEqual(['sms used: first_step', 'sms used: first_step', 'sms not: superseded']);
    expect(codes(refused, policy)[1]).toBe('email not: waiting');
  });

  it('says of a pause, a close and a refused region what held it back', () => {
    const policy = examplePolicy();
    const [paused, closed, elsewhere] = [openAccepted(policy), openAccepted(policy), openWorld({ policy })];
    paused.pause();
    closed.close();
    elsewhere.accept({ region: 'JP' });
    expect([paused, closed, elsewhere].map((world) => codes(world, policy))).toEqual([['sms not: paused', 'email not: paused'], ['sms not: closed', 'email not: closed'], ['sms not: region', 'email not: region']]);
  });

  it('says of what fell due in a pause that the pause held it, where the notification expired in it or was closed', () => {
    const policy = examplePolicy();
    const texts = (start: boolean, act: (world: World) => void): string[] => {
      const world = openAccepted(policy);
      if (start) { world.start('sms'); world.answer('sms', accepted()); }
      world.jumpTo(10_000);
      act(world);
      return [...codes(world, policy), ...answers(world, policy).map(({ text }) => text)];
    };
    const [, email, , text] = texts(true, (world) => { world.pause(); world.runTo(16 * 60_000); world.resume(); });
    expect(email).toBe('email not: paused');
    expect(text).toMatch(/^Email, .* was not used because the notification was paused from 2026-01-05T12:00:10Z \(maintenance\) until it expired at 2026-01-05T12:15:00Z, and nothing is claimed while it is, so it never had its turn; SMS was taken by twilio at /);
    expect(texts(false, (world) => { world.pause(); world.runTo(16 * 60_000); }).slice(0, 2)).toEqual(['sms not: paused', 'email not: paused']);
    expect(texts(false, (world) => { world.pause(); world.jumpTo(20_000); world.resume(); world.runTo(16 * 60_000); })[1]).not.toBe('email not: paused');
    expect(texts(true, (world) => { world.pause(); world.jumpTo(60_000); world.close(); })[3]).toMatch(/closed at 2026-01-05T12:01:00Z \(taken\), while it was paused since 2026-01-05T12:00:10Z \(maintenance\), before it had its turn; /);
  });

  it('gives the submissions of another channel to that channel, also where all of them were in vain', () => {
    const policy = examplePolicy({ order: ['email', 'sms'] });
    const texts = (tries: number, end: (world: World) => void): string => {
      const world = openAccepted(policy);
      for (let at = 0; at < tries; at += 1) {
        world.jumpTo(at * 60_000);
        world.start('email');
        world.answer('email', deferred());
      }
      end(world);
      return answers(world, policy)[1]?.text ?? '';
    };
    const closed = (world: World): unknown => world.close();
    expect(texts(2, closed)).toMatch(/^SMS, .* before it had its turn; the 2 submissions of email were definitely not processed between /);
    expect(texts(1, closed)).toMatch(/; the one submission of email was definitely not processed between /);
    expect(texts(0, closed)).toMatch(/; no provider was called for email between /);
    expect(texts(1, (world) => { world.bar('email'); world.bar('sms'); world.jumpTo(60_000); world.tick(); })).not.toMatch(/\bits (one|\d+) submission|its channel/);
  });
});

test('whatever happens, at each instant each step of the policy is answered exactly once, with its version, a cause and an observation', () => {
  fc.assert(fc.property(anyLife, (life) => {
    const world = live(life);
    const step = (channel: Channel) => ({ escalateWhen: life.escalateWhen, ...(life.shadow === channel ? { shadow: true } as const : {}) });
    const policy = examplePolicy({ policy: { strategy: life.strategy }, order: life.order, sms: step('sms'), email: step('email') });
    const entries = entriesOf(world);
    let state = emptyState(EVENT);
    world.entries.forEach((entry, index) => {
      state = evolve(state, entry);
      if (world.entries[index + 1]?.at === entry.at) return;
      const told = answerChannels(state, entries.slice(0, index + 1), policy);
      expect(told.map(({ channel }) => channel)).toEqual(life.order);
      for (const { text, cause } of told) {
        expect(text).toMatch(/^(SMS|Email), step \d of policy example\/1, was (not )?used( so far)? because [^;]{8,}.*; .*\d{4}-\d\d-\d\dT.*\.$/);
        expect(text).not.toMatch(/undefined|null|1970-|was not used because it (waits in its queue|is the first)/);
        expect(cause).toMatch(/^[a-z_]+$/);
      }
    });
  }), { numRuns: 150 });
}, 60_000);
