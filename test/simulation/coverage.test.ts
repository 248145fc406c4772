import { describe, expect, it } from '@jest/globals';
import { addCoverage, coverageText, gapsOf, isPromised, leastPasses, noCoverage } from './coverage.ts';
import type { Coverage } from './coverage.ts';
import { drawnEdges } from './edges.ts';
import { ANSWERED, BOUNDARIES, FAULT_KINDS } from './plan.ts';

const SIDED = ['crash before', 'crash after', 'stop before', 'stop after'];

/** That many runs which met everything exactly as often as is asked for. */
const wellCovered = (runs: number): Coverage => {
  const pairs = [...BOUNDARIES.flatMap((boundary) => SIDED.map((fault) => `${boundary} x ${fault}`)), ...ANSWERED.map((boundary) => `${boundary} x commit-answer-lost`)];
  return {
    ...noCoverage(), runs, kinds: Object.fromEntries(FAULT_KINDS.map((kind) => [kind, runs * 0.05])), pairs: Object.fromEntries(pairs.map((pair) => [pair, leastPasses(runs)])),
    edges: Object.fromEntries(drawnEdges().map((edge) => [edge, 1])),
  };
};

describe('the coverage of a simulation', () => {
  it('asks of a hundred thousand runs that each boundary was met by each fault a hundred times', () => {
    expect(leastPasses(100_000)).toBe(100);
    expect(gapsOf(wellCovered(100_000))).toEqual([]);
  });
  it.each([
    ['a boundary met too seldom', (coverage: Coverage) => { coverage.pairs['append-claim x stop before'] = 99; }, 'append-claim x stop before fewer than 100 times'],
    ['a lost answer met too seldom', (coverage: Coverage) => { delete coverage.pairs['enqueue x commit-answer-lost']; }, 'enqueue x commit-answer-lost fewer than 100 times'],
    ['a fault in too few runs', (coverage: Coverage) => { coverage.kinds['job-lost'] = 4_999; }, 'job-lost in fewer than 5 % of the runs'],
    ['an edge that was never taken', (coverage: Coverage) => { coverage.edges['delivered->undelivered'] = 0; }, 'delivered->undelivered never taken'],
  ])('names %s', (_, spoil, gap) => {
    const coverage = wellCovered(100_000);
    spoil(coverage);
    expect(gapsOf(coverage)).toEqual([gap]);
  });
  it('is promised of a large run only', () => {
    expect([1_000, 9_999, 10_000, 100_000].map((runs) => isPromised(wellCovered(runs)))).toEqual([false, false, true, true]);
  });
  it('of two processes is the sum of both', () => {
    const sum = noCoverage();
    addCoverage(sum, { ...wellCovered(50_000), broken: [{ seed: 7, invariant: 'a promise', about: '' }] });
    addCoverage(sum, wellCovered(50_000));
    expect(gapsOf(sum)).toEqual([]);
    expect(sum).toMatchObject({ runs: 100_000, broken: [{ seed: 7 }] });
  });
  it('prints every boundary, fault and edge', () => {
    const text = coverageText(wellCovered(1_000));
    for (const name of [...BOUNDARIES, ...FAULT_KINDS, ...drawnEdges()]) expect(text).toContain(name);
  });
});
