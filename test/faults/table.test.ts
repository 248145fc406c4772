import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import { FAULTS, markdownTable } from './table.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
/** The whole list. */
const ASKED_FOR = Array.from({ length: 38 }, (_, index) => index + 1);

describe('the table of faults', () => {
  it('has a row for every fault that is asked for', () => {
    const present = new Set(FAULTS.map(({ fault }) => fault));
    expect(ASKED_FOR.filter((fault) => !present.has(fault))).toEqual([]);
  });

  test.each(FAULTS.map((row) => [`${row.fault}, ${row.mistake.name}`, row] as const))('fault %s: names a test that exists, and a mistake that fits the sources', (_, { fault, file, mistake }) => {
    expect(read(file)).toMatch(new RegExp(`(test|\\))\\(['"\`]fault ${fault}: `));
    for (const patch of mistake.patches) {
      expect(read(patch.file)).toContain(patch.find);
      expect(patch.put).not.toBe(patch.find);
    }
  });

  it('is the one in docs/faults.md', () => {
    expect(read('docs/faults.md')).toContain(markdownTable());
  });
});
