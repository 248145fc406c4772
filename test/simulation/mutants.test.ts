import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { tryMutant } from './mutate.ts';
import { MUTANTS } from './mutants.ts';

const mutantOf = (name: string) => MUTANTS.find((one) => one.name === name) as (typeof MUTANTS)[number];

describe('the planted mistakes', () => {
  it.each(MUTANTS.flatMap((mutant) => mutant.patches.map((patch) => [mutant.name, patch] as const)))('%s still fits the sources', (_, { file, find }) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(find);
  });

  it.each([['re-send-on-unknown', /never a blind second send|what the provider took is never called not sent/], ['unknown-booked-as-failed', /unknown is never called failed/]] as const)('%s is caught by name', async (name, invariant) => {
    expect(await tryMutant(mutantOf(name), 40, 1)).toMatchObject({ kind: 'caught', invariant: expect.stringMatching(invariant) });
  }, 60_000);
});
