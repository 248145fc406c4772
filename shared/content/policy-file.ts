import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { DEFAULT_PAYLOAD_TERMS } from '../domain/policy.ts';
import type { Policy, PolicyStep } from '../domain/policy.ts';
import { checkPolicy } from './policy-check.ts';
import { durationField, percentField } from './duration.ts';
import { alertFields, alertsOf } from './policy-alerts.ts';
import { regionsField, termFields, termsOf } from './policy-terms.ts';
import { FileProblemsError, readFrom, readYamlFile, shownPath } from './yaml-file.ts';
import type { At, FileProblem } from './yaml-file.ts';

/** All faults in the policy files of a folder. */
export class PolicyFileError extends FileProblemsError {}

const channel = z.enum(['sms', 'email']);

const stepSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a short name in lower case, such as sms'),
  channel,
  template: z.string().min(1),
  template_version: z.int().min(1),
  polls: z.array(durationField).default([]),
  poll_jitter: percentField.default(0),
  final_poll_before_deadline: durationField.default(0),
  decide_within: durationField,
  reserve: durationField.default(0),
  escalate_when: z.array(z.enum(['pending', 'accepted', 'unknown', 'failed'])).optional(),
  on_unknown: z.enum(['hold', 'replay', 'resubmit_if_absent']),
  max_observation_age: durationField,
  look_within: durationField,
  transport_retry: z.strictObject({ max_submissions: z.int().min(1).max(100), base: durationField, cap: durationField }),
  submit_limit: durationField,
  requeue_after: durationField,
  precondition: z.boolean().default(false),
  on_precondition_error: z.enum(['send', 'hold']).optional(),
  shadow: z.boolean().default(false),
  attach_up_to_bytes: z.int().min(1).max(100_000_000).optional(),
  throttle: z.strictObject({ most: z.int().min(1).max(1_000), within: durationField }).optional()
    .describe('No more than so many of this purpose to one destination within that time; what comes beyond is skipped, and the next step starts'),
});

/** A policy file; its JSON schema is published under `docs/schemas`. */
export const policySchema = z.strictObject({
  strategy: z.enum(['escalate', 'all']),
  urgency: z.enum(['urgent', 'routine']),
  classification: z.enum(['transactional', 'commercial', 'subscription']),
  regions: regionsField,
  expires_after: durationField,
  reconcile_grace: durationField,
  reconcile_every: durationField,
  reconcile_cap: durationField,
  retention: durationField,
  payload: z.strictObject({
    variables: z.enum(['submitted', 'settled', 'retention']).default(DEFAULT_PAYLOAD_TERMS.variables),
    addresses: z.enum(['retry_window', 'retention']).default(DEFAULT_PAYLOAD_TERMS.addresses),
    retry_window: durationField.default(DEFAULT_PAYLOAD_TERMS.retryWindowMs),
    after_settling: z.enum(['retry', 'nothing']).optional(),
  }).optional(),
  ...alertFields,
  ...termFields,
  steps: z.array(stepSchema).min(1, 'must have at least one step'),
});

/** A policy as it is written, still without the check of its sense. */
export type PolicySource = z.infer<typeof policySchema>;

const stepOf = (step: PolicySource['steps'][number]): PolicyStep => ({
  name: step.name,
  channel: step.channel,
  template: step.template,
  templateVersion: step.template_version,
  pollOffsetsMs: step.polls,
  pollJitter: step.poll_jitter,
  finalPollLeadMs: step.final_poll_before_deadline,
  decideWithinMs: step.decide_within,
  reserveMs: step.reserve,
  // Only the last step of a policy may leave it out (policy-check): nothing comes after it.
  escalateWhen: step.escalate_when ?? [],
  onUnknown: step.on_unknown,
  maxObservationAgeMs: step.max_observation_age,
  lookWithinMs: step.look_within,
  transportRetry: { maxSubmissions: step.transport_retry.max_submissions, baseMs: step.transport_retry.base, capMs: step.transport_retry.cap },
  submitLimitMs: step.submit_limit,
  requeueAfterMs: step.requeue_after,
  // Left out where nothing is asked: a default written in would change the content of versions that were published before.
  ...(step.precondition ? { precondition: step.on_precondition_error ?? 'send' } : {}),
  ...(step.shadow ? { shadow: true } : {}),
  ...(step.attach_up_to_bytes === undefined ? {} : { attachUpToBytes: step.attach_up_to_bytes }),
  ...(step.throttle === undefined ? {} : { throttle: { most: step.throttle.most, withinMs: step.throttle.within } }),
});

const policyOf = (purpose: string, version: number, source: PolicySource): Policy => ({
  purpose,
  version,
  strategy: source.strategy,
  urgency: source.urgency,
  classification: source.classification,
  ...termsOf(source),
  expiresAfterMs: source.expires_after,
  reconcileGraceMs: source.reconcile_grace,
  reconcileEveryMs: source.reconcile_every,
  reconcileCapMs: source.reconcile_cap,
  retentionMs: source.retention,
  // Left out where the file leaves it out: a default written in would change the content of versions that were published before.
  ...(source.payload === undefined ? {} : { payload: { variables: source.payload.variables, addresses: source.payload.addresses, retryWindowMs: source.payload.retry_window, ...(source.payload.after_settling === 'nothing' ? { afterSettling: 'nothing' } : {}) } }),
  ...alertsOf(source),
  steps: source.steps.map(stepOf),
});

/** A policy with the means to name a place of its file. `file` is as messages show it. */
export interface ReadPolicy { policy: Policy; at: At; file: string }

const byPurpose = ({ policy: one }: ReadPolicy, { policy: other }: ReadPolicy): number =>
  (one.purpose === other.purpose ? one.version - other.version : one.purpose < other.purpose ? -1 : 1);

/** `01.yaml`, `v1.yaml` and `1.yml` mean version 1 to people. */
const meantVersion = (name: string): string | undefined => /^v?0*([1-9]\d{0,5})\.ya?ml$/i.exec(name)?.[1];

const misnamed = (names: string[], name: string): [problem: string, code: string] => {
  const version = meantVersion(name);
  return version !== undefined && names.some((other) => other !== name && meantVersion(other) === version)
    ? [`claims version ${version} of this purpose, as another file does; remove one, or give it the next number`, 'duplicate_version']
    : ['is not of the form <purpose>/<version>.yaml, e.g. game-support-urgent/1.yaml; rename it', 'misnamed_file'];
};

/**
 * Reads `<dir>/<purpose>/<version>.yaml`; purpose and version are the path's.
 * @returns the readable policies, ordered by purpose and version, and every fault found.
 * @throws ConfigurationError where there is no such folder.
 */
export const readPolicies = (dir: string): { read: ReadPolicy[]; problems: FileProblem[] } => {
  const problems: FileProblem[] = [];
  const found: ReadPolicy[] = [];
  for (const purpose of readFrom(dir, 'TOCSIN_POLICY_DIR', () => readdirSync(dir, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name)) {
    const names = readdirSync(join(dir, purpose));
    for (const name of names) {
      const path = join(dir, purpose, name);
      const version = /^([1-9]\d{0,5})\.yaml$/.exec(name)?.[1];
      if (!version || !/^[a-z][a-z0-9-]{0,63}$/.test(purpose)) {
        const [problem, code] = misnamed(names, name);
        problems.push({ file: shownPath(dir, path), line: 1, column: 1, field: '', problem, code });
        continue;
      }
      const read = readYamlFile(path, policySchema, dir);
      if (read.ok) {
        problems.push(...checkPolicy(read.value).map(({ path: field, problem, code }) => read.at(field, problem, code)));
        found.push({ policy: policyOf(purpose, Number(version), read.value), at: read.at, file: shownPath(dir, path) });
      } else problems.push(...read.problems);
    }
  }
  return { read: found.sort(byPurpose), problems };
};

/**
 * All policies of a folder.
 * @throws PolicyFileError naming every fault of every file, with line, column, field and cure; ConfigurationError where there is
 * no such folder.
 */
export const loadPolicies = (dir: string): Policy[] => {
  const { read, problems } = readPolicies(dir);
  if (problems.length > 0) throw new PolicyFileError(problems);
  return read.map(({ policy }) => policy);
};
