import { describe, expect, it } from '@jest/globals';
import { openProgress } from './progress.ts';

const told = (isTerminal: boolean) => {
  const written: string[] = [];
  const clock = { now: 0 };
  const progress = openProgress({ total: 1_000, isTerminal, write: (text) => { written.push(text); }, now: () => clock.now });
  return { written, progress, at: (now: number, done: number, broken = 0) => { clock.now = now; progress.tell(done, broken); } };
};

describe('the progress of a long run', () => {
  it('is a line every fifteen seconds where nobody looks on', () => {
    const { written, progress, at } = told(false);
    at(10_000, 100);
    at(15_000, 150);
    at(29_999, 299);
    at(31_000, 310, 1);
    progress.end();
    expect(written).toEqual(['150 of 1000 runs, 10 runs/s, 85 s left\n', '310 of 1000 runs, 10 runs/s, 69 s left, 1 broke a promise\n']);
  });
  it('is one line that is written over on a terminal, and gone at the end', () => {
    const { written, progress, at } = told(true);
    at(1_000, 1);
    at(2_000, 400);
    progress.end();
    expect(written).toEqual(['\r1 of 1000 runs, 1 runs/s, 17 min left', `\r${'400 of 1000 runs, 200 runs/s, 3 s left'.padEnd(37)}`, `\r${' '.repeat(38)}\r`]);
  });
  it('is silent in a short run', () => {
    const { written, progress, at } = told(false);
    at(14_999, 999);
    progress.end();
    expect(written).toEqual([]);
  });
});
