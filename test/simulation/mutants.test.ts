import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { focused } from './focus.ts';
import { mutateAll } from './mutate-all.ts';
import { tryMutant } from './mutate.ts';
import { MUTANTS, focusOf } from './mutants.ts';
import { planOf } from './plan.ts';
import { databasesOn } from './statement-server.ts';

const mutantOf = (name: string) => MUTANTS.find((one) => one.name === name) as (typeof MUTANTS)[number];
/** How many mistakes the list has, and which of them stand in code that is not there yet. */
const LISTED = 30;

const databases = databasesOn(String(process.env.TOCSIN_TEST_PG), `mutants_${process.pid}`);
afterAll(() => databases.drop());

describe('the planted mistakes', () => {
  it.each(MUTANTS.flatMap((mutant) => mutant.patches.map((patch) => [mutant.name, patch] as const)))('%s still fits the sources', (_, { file, find }) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(find);
  });

  it('are all of the list, each under a name of its own', () => {
    const planted = new Set(MUTANTS.map((mutant) => mutant.number));
    const missing = Array.from({ length: LISTED }, (_, index) => index + 1).filter((number) => !planted.has(number));
    expect(missing).toEqual([]);
    expect(new Set(MUTANTS.map((mutant) => mutant.name)).size).toBe(MUTANTS.length);
  });

  it.each([['re-send-on-unknown', /never a blind second send|what the provider took is never called not sent/], ['unknown-booked-as-failed', /unknown is never called failed/]] as const)('%s is caught by name', async (name, invariant) => {
    expect(await tryMutant(mutantOf(name), 40, 1)).toMatchObject({ kind: 'caught', invariant: expect.stringMatching(invariant) });
  }, 60_000);

  it('feed-by-position-below-xmin is caught by name on a real Postgres', async () => {
    expect(await tryMutant(mutantOf('feed-by-position-below-xmin'), 2, 1, databases)).toMatchObject({ kind: 'caught', invariant: 'the feed never skips' });
  }, 240_000);

  it('are not to be asked for by a name that nobody knows', async () => {
    const said: string[] = [];
    const settings = { seed: 1, runs: { simulation: 1, focus: 1, statements: 1 }, json: false, say: (text: string) => { said.push(text); }, progress: () => undefined };
    expect(await mutateAll({ ...settings, wanted: ['no-such-mistake'] })).toBe(2);
    expect(said.join('')).toMatch(/no mistake is called no-such-mistake; there are .*feed-by-position-alone/);
  });
});

describe('a focus', () => {
  it('adds the same to a seed every time, and nothing where there is none', () => {
    for (const focus of MUTANTS.map(focusOf)) {
      expect(focused(planOf(7), focus)).toEqual(focused(planOf(7), focus));
      if (focus) expect(focused(planOf(7), focus)).not.toEqual(planOf(7));
    }
    expect(focused(planOf(7), undefined)).toEqual(planOf(7));
  });
});
