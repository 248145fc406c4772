import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { compileScript } from '../../services/sandbox/script.ts';
import { normalisePhone } from '../../shared/content/address.ts';
import { drawPlan } from './chaos-plan.ts';
import { PLANTS } from './planted-tree.ts';

const five = (seed: number) => drawPlan({ seed, durationMs: 300_000, load: 5_000 });

describe('The plan of a chaos run', () => {
  it('is the same for the same seed, and another one for another', () => {
    expect(five(7)).toEqual(five(7));
    expect(five(7).digest).not.toBe(five(8).digest);
  });

  it('kills workers often enough that twenty of them die in the middle of a submission', () => {
    const kills = five(1).processFaults.filter((fault) => fault.kind === 'kill' && (fault.slot.service === 'sms' || fault.slot.service === 'email'));
    expect(kills.length).toBeGreaterThanOrEqual(25);
    expect(kills.filter((fault) => fault.kind === 'kill' && fault.then !== null).length).toBeGreaterThanOrEqual(20);
  });

  it.each([24_000, 60_000, 300_000])('has every kind of fault in %d ms', (durationMs) => {
    const { processFaults, worldFaults } = drawPlan({ seed: 1, durationMs, load: 10 });
    expect(new Set(processFaults.map(({ kind }) => kind))).toEqual(new Set(['kill', 'stop']));
    expect(new Set(worldFaults.map((fault) => (fault.kind === 'outage' ? fault.channel : fault.kind)))).toEqual(new Set(['database', 'flush', 'sms', 'email']));
    // Longer than a worker's lock on its jobs.
    expect(processFaults.some((fault) => fault.kind === 'stop' && fault.forMs > 13_500)).toBe(true);
  });

  it('gives every notification a number and an address of its own, with scripts that the sandbox takes', () => {
    const { notices } = five(3);
    expect(new Set(notices.map(({ sms }) => normalisePhone(sms.to))).size).toBe(5_000);
    for (const { sms, email } of notices) {
      expect(compileScript(sms.script, 'sms')).toHaveProperty('compiled');
      expect(compileScript(email.script, 'email')).toHaveProperty('compiled');
    }
  });

  it.each(PLANTS.flatMap((mutant) => mutant.patches.map((patch) => [mutant.name, patch] as const)))('%s still fits the sources', (_, { file, find }) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(find);
  });
});
