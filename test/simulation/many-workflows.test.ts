import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import type { Coverage } from './coverage.ts';
import { isPromised } from './coverage.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIMIT_MS = 900_000;
/** Somewhat more than three workflows in two runs. */
const RUNS = 13_000;

/** In processes of their own, where a run takes half of what it takes under Jest; `npm run simulate -- --runs 100000` is the long form. */
test('simulated deployments keep every promise through twenty thousand workflows among crashes, stops, lost jobs and lying providers, and nothing stays uncovered', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', 'test/simulation/simulate-main.ts', '--runs', String(RUNS), '--json'], { cwd: ROOT, timeout: LIMIT_MS, maxBuffer: 1 << 26 })
    .catch((failed: { stdout: string; stderr: string }) => failed);
  const coverage = JSON.parse(stdout) as Coverage & { gaps: string[] };
  expect(coverage.broken).toEqual([]);
  expect(coverage.workflows).toBeGreaterThanOrEqual(20_000);
  // What was never struck was never proved.
  expect(isPromised(coverage)).toBe(true);
  expect(coverage.gaps).toEqual([]);
  expect(Object.keys(coverage.statuses)).toEqual(expect.arrayContaining(['delivered', 'sent', 'unknown', 'closed', 'expired', 'policy_rejected', 'undelivered', 'partially_delivered']));
}, LIMIT_MS);
