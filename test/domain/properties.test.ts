import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fold } from '../../shared/domain/evolve.ts';
import { anyLife, live } from './random-life.ts';
import { EVENT } from './world.ts';

describe('whatever happens to a notification', () => {
  it('keeps every invariant after every decision, and ends', () => {
    fc.assert(fc.property(anyLife, (life) => {
      const world = live(life);
      expect(world.state.settledAt).not.toBeNull();
      expect(Object.keys(world.state.payload?.destroyed ?? {}).sort()).toEqual(['addresses', 'secrets', 'variables']);
      expect(fold(EVENT, world.entries)).toEqual(world.state);
    }), { numRuns: 2_000 });
  }, 120_000);
});
