import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The clocks of the measured workflow. Polls come after tens of milliseconds, so that work and not waiting is measured. Under a full load
 * the deadline lies beyond what a queue of the permitted length takes, or a message that is only late would be counted as one
 * that never came, and the mix of fates would not be the one that was asked for.
 */
export const FIRST_POLL_MS = 40;
const FINAL_POLL_LEAD_MS = 20;
export const DECIDE_WITHIN_MS = { load: 4_000, lag: 250 } as const;
export type ClockSet = keyof typeof DECIDE_WITHIN_MS;
export const purposeOf = (clocks: ClockSet): string => `bench-${clocks}`;

const policyText = (decideWithinMs: number): string => `
strategy: escalate
urgency: urgent
classification: transactional
regions:
  US: { consent: { sms: [consent], email: [consent] } }
expires_after: 15m
reconcile_grace: 30m
# Once the email is out, what may still be heard of the SMS is no part of the measured workflow.
reconcile_every: 20m
reconcile_cap: 20m
retention: 400d
steps:
  - name: sms
    channel: sms
    template: game-support-urgent-sms
    template_version: 1
    polls: [${FIRST_POLL_MS}ms]
    final_poll_before_deadline: ${FINAL_POLL_LEAD_MS}ms
    decide_within: ${decideWithinMs}ms
    escalate_when: [pending, accepted, unknown, failed]
    on_unknown: hold
    max_observation_age: 10s
    look_within: 3s
    transport_retry: { max_submissions: 6, base: 1s, cap: 10s }
    submit_limit: 15s
    requeue_after: 30s
  - name: email
    channel: email
    template: game-support-urgent-email
    template_version: 1
    polls: []
    reserve: 60s
    decide_within: 10m
    on_unknown: hold
    max_observation_age: 10s
    look_within: 3s
    transport_retry: { max_submissions: 40, base: 1s, cap: 30s }
    submit_limit: 15s
    requeue_after: 30s
`;

/** Writes the measured policies beside the shipped ones into a folder; returns the folder. */
export const writePolicies = (folder: string): string => {
  cpSync(fileURLToPath(new URL('../policies', import.meta.url)), folder, { recursive: true });
  for (const [clocks, decideWithinMs] of Object.entries(DECIDE_WITHIN_MS)) {
    const purpose = join(folder, purposeOf(clocks as ClockSet));
    mkdirSync(purpose, { recursive: true });
    writeFileSync(join(purpose, '1.yaml'), policyText(decideWithinMs));
  }
  return folder;
};
