import { describe, expect, it } from '@jest/globals';
import { explain } from '../../shared/domain/explain.ts';
import { retryRefusal } from '../../shared/domain/retry.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { PayloadPart } from '../../shared/domain/words.ts';
import { examplePolicy } from './policies.ts';
import { START, accepted, openWorld, reads, rejected } from './world.ts';
import type { World } from './world.ts';

const policy = examplePolicy({ order: ['sms'], policy: { payload: { variables: 'retention', addresses: 'retention', retryWindowMs: 1_000 } } });
const opened = (payloadParts: PayloadPart[] | null = ['secrets', 'variables', 'addresses']): World => {
  const world = openWorld({ policy });
  world.accept(payloadParts === null ? {} : { payloadParts });
  return world;
};
const settled = (): World => {
  const world = opened();
  world.start('sms');
  world.answer('sms', accepted());
  world.poll('sms', reads('delivered'));
  return world;
};
const erase = (world: World, of: 'recipient' | 'player', close = false) => world.decide({ kind: 'erase', of, reason: 'requested', close }).transitions.map(({ transition }) => transition.kind);

describe('an erasure', () => {
  it('leaves alone what may still be sent, unless it is to close it', () => {
    const world = opened();
    expect(erase(world, 'recipient')).toEqual([]);
    expect(erase(world, 'recipient', true)).toEqual(['NotificationClosed', 'AttemptCancelled', 'PayloadDestroyed', 'NotificationSettled']);
    expect(world.state).toMatchObject({ closed: { reason: 'erased' }, erased: { recipient: START } });
  });

  it('of a recipient destroys every part before its time, of a player all but the addresses, and each once', () => {
    const world = settled();
    expect(erase(world, 'player')).toEqual(['PayloadDestroyed']);
    expect(world.last('PayloadDestroyed')).toEqual({ parts: ['secrets', 'variables'], erasure: { of: 'player', reason: 'requested' } });
    expect(erase(world, 'recipient')).toEqual(['PayloadDestroyed']);
    expect(world.last('PayloadDestroyed')).toEqual({ parts: ['addresses'], erasure: { of: 'recipient', reason: 'requested' } });
    expect([erase(world, 'player', true), erase(world, 'recipient', true)]).toEqual([[], []]);
    expect([world.status(), world.state.closed]).toEqual(['delivered', null]);
  });

  it('is an entry also where all parts were gone, or where nobody knows which there were', () => {
    const world = opened(null);
    expect(erase(world, 'recipient', true)).toContain('PayloadDestroyed');
    expect(world.last('PayloadDestroyed').parts).toEqual(['secrets', 'variables', 'addresses', 'precondition']);
    expect(erase(world, 'recipient', true)).toEqual([]);
  });

  it('ends its dead letters, which nothing could be sent for any more', () => {
    const world = opened();
    world.start('sms');
    world.answer('sms', rejected);
    world.decide({ kind: 'erase', of: 'player', reason: 'requested', close: true });
    expect(retryRefusal(world.state, world.attempt('sms').key, world.now, { evenIfDelivered: true, acceptDuplicate: true })).not.toBeNull();
  });

  it('is told in words, and folds to the same state', () => {
    const world = settled();
    erase(world, 'recipient');
    const entries = world.entries.map(({ at, transition: { kind, details } }) => ({ at, kind, details: details as Record<string, unknown> }));
    expect(explain(world.state, entries, policy).at(-1)).toMatch(/^The recipient was erased at .*\(requested\): nothing that tells who it was is kept any more/);
    expect(world.entries.reduce(evolve, emptyState(world.state.eventId))).toEqual(world.state);
  });
});
