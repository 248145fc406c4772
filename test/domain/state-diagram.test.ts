import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anyLife, live } from './random-life.ts';

const drawn = [...readFileSync(new URL('../../shared/domain/README.md', import.meta.url), 'utf8').matchAll(/^\s*(\S+) --> (\w+|\[\*\])/gm)].map(([, from, to]) => `${from}->${to}`);

/** Every edge that many random lives walk; the seed is fixed, so that the rare edges are among them on every run. */
const walked = (): Map<string, number> => {
  const edges = new Map<string, number>();
  for (const life of fc.sample(anyLife, { numRuns: 3_000, seed: 20_260_105 })) {
    for (const [edge, times] of live(life).edges) edges.set(edge, (edges.get(edge) ?? 0) + times);
  }
  return edges;
};

describe('the state diagram of the README', () => {
  it('shows every edge that attempts take, and no other', () => {
    expect([...walked().keys()].sort()).toEqual([...drawn].sort());
  });
  it('names no edge twice', () => {
    expect(new Set(drawn).size).toBe(drawn.length);
  });
});
