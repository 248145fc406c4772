import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHIPPED = fileURLToPath(new URL('../../policies', import.meta.url));

/** The clocks of the audits: short ones, so that hours of operation pass in minutes. All in milliseconds. */
export const CLOCKS = {
  decideWithinMs: 5_000, expiresAfterMs: 60_000, graceMs: 10_000, submitStartWithinMs: 1_000, providerTimeoutMs: 1_500,
} as const;

const replaceAll = (text: string, replacements: readonly (readonly [RegExp, string])[]): string =>
  replacements.reduce((changed, [pattern, by]) => {
    if (!pattern.test(changed)) throw new Error(`the shipped policy no longer has ${String(pattern)}`);
    return changed.replace(new RegExp(pattern.source, 'gm'), by);
  }, text);

const COMMON = [
  [/^expires_after: .*$/m, 'expires_after: 60s'], [/^reconcile_grace: .*$/m, 'reconcile_grace: 10s'], [/^reconcile_every: .*$/m, 'reconcile_every: 2s'],
  [/^reconcile_cap: .*$/m, 'reconcile_cap: 10s'], [/submit_limit: .*$/m, 'submit_limit: 3s'], [/requeue_after: .*$/m, 'requeue_after: 1s'],
  [/max_observation_age: .*$/m, 'max_observation_age: 3s'], [/look_within: .*$/m, 'look_within: 1s'],
  [/transport_retry: .*$/m, 'transport_retry: { max_submissions: 10, base: 500ms, cap: 5s }'],
] as const;

const URGENT = [
  ...COMMON, [/polls: \[5s.*$/m, 'polls: [500ms, 1s, 2s, 4s]'], [/final_poll_before_deadline: .*$/m, 'final_poll_before_deadline: 300ms'],
  [/decide_within: 30s/m, 'decide_within: 5s'], [/decide_within: 10m/m, 'decide_within: 10s'], [/reserve: 60s/m, 'reserve: 5s'],
] as const;

const ROUTINE = [...COMMON, [/decide_within: 10m/m, 'decide_within: 10s']] as const;

/** Writes the shipped purposes with the audits' clocks, and the shipped roster, into a folder. Returns the folder. */
export const writeAuditPolicies = (folder: string): string => {
  for (const [purpose, replacements] of [['game-support-urgent', URGENT], ['game-support-routine', ROUTINE]] as const) {
    mkdirSync(join(folder, purpose), { recursive: true });
    writeFileSync(join(folder, purpose, '1.yaml'), replaceAll(readFileSync(join(SHIPPED, purpose, '1.yaml'), 'utf8'), replacements));
  }
  cpSync(join(SHIPPED, 'roster.yaml'), join(folder, 'roster.yaml'));
  return folder;
};
