import { fileURLToPath } from 'node:url';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { publishVersions } from '../../shared/ledger/versions.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { createMetrics } from '../../shared/telemetry/metrics.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';

export const SENDER = { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' };
export const silentLog = (): Logger => createLogger({ level: 'silent', service: 'test', redactPaths: [] });
const shipped = (folder: string): string => fileURLToPath(new URL(`../../${folder}`, import.meta.url));
export const shippedPolicies = (): Policy[] => loadPolicies(shipped('policies'));
/** The newest shipped version of a purpose. */
export const shippedPolicy = (purpose: string, policies = shippedPolicies()): Policy => {
  const found = policies.findLast((policy) => policy.purpose === purpose);
  if (!found) throw new Error(`no ${purpose} is shipped`);
  return found;
};
const untiring = (shippedStep: PolicyStep): PolicyStep => {
  const step = { ...shippedStep };
  delete step.throttle;
  return step;
};
/** The shipped ones without their throttles: most tests page the same on-call as often as they like. */
export const untiringPolicies = (): Policy[] => shippedPolicies().map((policy) => ({ ...policy, steps: policy.steps.map(untiring) }));

export interface TestEngineSettings { url: string; now?: () => number; policies?: Policy[]; /** Beside the shipped ones. */ templates?: TemplateVersion[]; log?: Logger; poolSize?: number; onEnqueued?: () => void; ring?: string; carriers?: Engine['carriers'] }

/** An engine on a real database, with the shipped templates and, unless others are given, the shipped policies without their throttles. */
export const createTestEngine = async (settings: TestEngineSettings): Promise<Engine & { close: () => Promise<void> }> => {
  const now = settings.now ?? (() => Date.now());
  const db = openDatabase({ url: settings.url, poolSize: settings.poolSize ?? 4, connectTimeoutMs: 20_000 });
  const templates = [...loadTemplates(shipped('templates')), ...settings.templates ?? []].map((template) => ({ name: template.name, version: template.version, definition: template }));
  await publishVersions(db, { policies: settings.policies ?? untiringPolicies(), templates, now: now() });
  const engine = createEngine({
    db, ring: parseKeyRing(settings.ring ?? generateKeyRingText()), carriers: settings.carriers ?? CARRIERS, sender: SENDER, log: settings.log ?? silentLog(), now, metrics: createMetrics(),
    ...(settings.onEnqueued ? { onEnqueued: settings.onEnqueued } : {}),
  });
  return { ...engine, close: () => db.close() };
};

let counter = 0;

/** An urgent intent to an on-call whose number ends in the given digits. */
export const urgentRequest = (ending = '03', over: Partial<AcceptRequest> = {}): AcceptRequest => {
  counter += 1;
  return {
    tenant: 'default', idempotencyKey: `test-${process.pid}-${counter}`, fingerprintOf: { test: counter }, purpose: 'game-support-urgent',
    recipient: {
      ref: `oncall-${ending}`, sms: `+120255501${ending}`, email: `oncall-${ending}@example.com`, region: 'US', locale: 'en', timeZone: 'America/New_York',
      consent: [{ channel: 'sms', basis: 'on_call_duty', reference: 'duty/1' }, { channel: 'email', basis: 'on_call_duty', reference: 'duty/1' }],
    },
    variables: (eventId) => ({
      category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en-US', player_ref: 'p-1', message: 'locked out', received_at: '2026-01-01T00:00:00Z',
      ticket_url: `http://127.0.0.1:3001/tickets/${eventId}`,
    }),
    expiresAt: null, artifacts: [], requestId: `req-${counter}`, actor: 'test', ticket: null, ...over,
  };
};
