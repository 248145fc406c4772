import { describe, expect, it } from '@jest/globals';
import { pauseEndangers, permittedActions, REFUSALS } from '../../shared/domain/permitted.ts';
import { examplePolicy } from './policies.ts';
import { EVENT, START, accepted, lost, openAccepted, openWorld, reads, rejected, unavailable } from './world.ts';
import type { World } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const policy = examplePolicy();
const open = (): World => openAccepted(policy);
/** Action, or action and channel, to its refusal. */
const permitted = (world: World): Record<string, string | null> =>
  Object.fromEntries(permittedActions(world.state, world.now).map(({ action, attempt, refusal }) => [attempt === null ? action : `${action} ${attempt.slice(EVENT.length + 1)}`, refusal]));

describe('what is permitted', () => {
  it('is to close or pause what is under way, and what was done is told as the reason why not again', () => {
    const world = open();
    expect(permitted(world)).toEqual({ close: null, pause: null, resume: 'not_paused' });
    world.pause();
    expect(permitted(world)).toEqual({ close: null, pause: 'paused', resume: null });
    world.resume();
    world.close();
    expect(permitted(world)).toEqual({ close: 'closed', pause: 'closed', resume: 'not_paused' });
  });

  it('is nothing where nothing was ever started', () => {
    const world = openWorld({ policy });
    world.accept({ region: 'FR' });
    expect(permitted(world)).toEqual({ close: 'nothing_started', pause: 'nothing_started', resume: 'not_paused' });
  });

  it('is to retry what failed, and never what another channel stands in for, or nobody can tell of', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', rejected);
    expect(permitted(world)).toMatchObject({ 'retry sms.1': 'superseded' });
    world.start('email');
    world.answer('email', lost);
    expect(permitted(world)).toMatchObject({ 'retry sms.1': 'superseded', 'retry email.1': 'not_resolvable' });
    const single = openWorld({ policy: examplePolicy({ order: ['email'] }) });
    single.accept();
    single.start('email');
    single.answer('email', unavailable);
    expect(permitted(single)).toEqual({ close: null, pause: 'settled', resume: 'not_paused', 'retry email.1': null });
    single.jumpTo(15 * MINUTE);
    expect(permitted(single)).toMatchObject({ 'retry email.1': 'expired' });
  });

  it('has a word for every refusal', () => {
    for (const words of Object.values(REFUSALS)) expect(words.length).toBeGreaterThan(5);
  });
});

describe('a pause', () => {
  it('endangers what waits to be sent: it is told from when on nothing reaches the recipient, and from when on somebody is paged', () => {
    const world = open();
    world.jumpTo(2 * SECOND);
    const danger = pauseEndangers(policy, world.state, world.now);
    // Counted from its begin: a worker may have it in hand already.
    expect(danger).toEqual({ nothingFrom: START + 30 * SECOND, pageFrom: START + 7.5 * MINUTE });
    world.pause();
    expect(pauseEndangers(policy, world.state, world.now)).toBeNull();
  });

  it('endangers a fallback that is still to be claimed, and nothing that was delivered or that the last provider has', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    expect(pauseEndangers(policy, world.state, world.now)).toEqual({ nothingFrom: START + 60 * SECOND, pageFrom: START + 7.5 * MINUTE });
    world.poll('sms', reads('delivered'));
    expect(pauseEndangers(policy, world.state, world.now)).toBeNull();
    const other = open();
    other.runTo(30 * SECOND);
    other.start('email');
    other.answer('email', accepted('M1'));
    expect(pauseEndangers(policy, other.state, other.now)).toBeNull();
  });
});
