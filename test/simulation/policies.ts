import { fileURLToPath } from 'node:url';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { withHash } from '../../shared/content/template.ts';
import type { LocaleParts, TemplateVersion } from '../../shared/content/template.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import type { BoundVersions, VersionStore } from '../../shared/delivery/versions.ts';
import { templateKey } from '../../shared/delivery/versions.ts';

const shipped = (folder: string): string => fileURLToPath(new URL(`../../${folder}`, import.meta.url));

const stepsOf = (policy: Policy, change: (step: PolicyStep) => Partial<PolicyStep>): PolicyStep[] => policy.steps.map((step) => ({ ...step, ...change(step) }));

/** The region with quiet hours. */
const silent = (hours: Partial<Record<'sms' | 'email', [from: string, to: string]>>): Policy['regions'] =>
  ({ US: { consent: {}, quietHours: Object.fromEntries(Object.entries(hours).map(([channel, [from, to]]) => [channel, { from, to, timeZone: 'UTC' }])) } });

/** Each choice of a payload's lifetime, on clocks that end within a run. */
const payloadOf = (index: number): Pick<Policy, 'payload' | 'retentionMs'> => ({
  payload: { variables: (['retention', 'submitted', 'settled'] as const)[index % 3] ?? 'retention', addresses: index === 3 ? 'retention' : 'retry_window', retryWindowMs: 60_000, ...(index === 4 ? { afterSettling: 'nothing' } : {}) },
  retentionMs: 20 * 60_000,
});

/** The shipped urgent policy and its variations: other strategy, other order, less escalation, shorter patience, another word on what is unknown. */
const variations = (base: Policy): Policy[] => {
  const grace = { reconcileGraceMs: 120_000, expiresAfterMs: 180_000, regions: { US: { consent: {} } } };
  const quick = { ...base, ...grace };
  const [sms, email] = base.steps as [PolicyStep, PolicyStep];
  return [
    { ...base, regions: grace.regions, reconcileGraceMs: 60_000 },
    quick,
    { ...quick, strategy: 'all' },
    { ...quick, steps: stepsOf(base, () => ({ escalateWhen: ['pending', 'failed'] })) },
    { ...quick, steps: [{ ...email, reserveMs: 0, decideWithinMs: 20_000, escalateWhen: ['pending', 'unknown', 'failed'] }, { ...sms, reserveMs: 60_000 }] },
    { ...quick, steps: stepsOf(base, (step) => ({ transportRetry: { ...step.transportRetry, maxSubmissions: 2 } })) },
    { ...quick, steps: stepsOf(base, (step) => ({ onUnknown: step.channel === 'sms' ? 'resubmit_if_absent' : 'replay', maxObservationAgeMs: 20_000, decideWithinMs: 60_000 })) },
    // Numbers as in ASKING.
    { ...quick, steps: stepsOf(base, () => ({ precondition: 'send' })) },
    { ...quick, steps: stepsOf(base, ({ channel }) => (channel === 'email' ? { precondition: 'hold' } : {})) },
    { ...quick, steps: stepsOf(base, () => ({ precondition: 'hold' })) },
    // Numbers as in SHADOWED.
    { ...quick, steps: stepsOf(base, ({ channel }) => (channel === 'sms' ? { shadow: true } : {})) },
    { ...quick, steps: stepsOf(base, ({ channel }) => (channel === 'email' ? { shadow: true } : {})) },
    { ...quick, steps: stepsOf(base, () => ({ shadow: true })) },
    // Numbers as in SILENT: quiet when it is accepted; quiet soon after, and when the email would be claimed.
    { ...quick, regions: silent({ sms: ['11:00', '12:01'] }) },
    { ...quick, expiresAfterMs: 300_000, regions: silent({ sms: ['12:01', '12:02'], email: ['12:01', '12:03'] }), steps: stepsOf(base, ({ channel }) => (channel === 'sms' ? { decideWithinMs: 120_000 } : {})) },
    // As FLOODED.
    { ...quick, steps: stepsOf(base, ({ channel }) => (channel === 'sms' ? { throttle: { most: 1, withinMs: 60_000 } } : {})) },
  ].map((policy, index) => ({ ...policy, ...payloadOf(index), purpose: `simulated-${index}`, version: 1 }) as Policy);
};

/** The policies that ask an origin system. */
export const ASKING = [7, 8, 9] as const;
/** The policies with a step in shadow: the first, the last, both. */
export const SHADOWED = [10, 11, 12] as const;
/** Those with quiet hours, by the simulation's own clock, which begins at noon. */
export const SILENT = [13, 14] as const;
/** The one with a throttle. */
export const FLOODED = 15;

const BRIEF: LocaleParts = { sms: '{{category}} {{ref}}', subject: '{{category}}', text: '{{message}} {{ref}}', html: '<p>{{message}} {{ref}}</p>' };

/** The shipped template with few words: what it says is of no concern here, and long texts would take most of the time. */
const brief = (template: TemplateVersion): TemplateVersion => {
  const parts = Object.keys(template.locales['en'] ?? {}) as (keyof LocaleParts)[];
  return withHash({ ...template, fallbackLocale: 'en', locales: { en: Object.fromEntries(parts.map((part) => [part, BRIEF[part]])) } });
};

export interface SimulatedVersions { store: VersionStore; policies: Policy[] }

let kept: SimulatedVersions | null = null;

/** The versions of the simulated deployment; read from the shipped files once. */
export const simulatedVersions = (): SimulatedVersions => {
  if (kept) return kept;
  const base = loadPolicies(shipped('policies')).find((policy) => policy.purpose === 'game-support-urgent');
  if (!base) throw new Error('the urgent policy is not shipped');
  const templates = new Map(loadTemplates(shipped('templates')).map((template) => [templateKey(template.name, template.version), brief(template)]));
  const policies = variations(base);
  const bound = new Map<string, BoundVersions>(policies.map((policy) => [policy.purpose, { policy, templates }]));
  const bind = (purpose: string): Promise<BoundVersions> => {
    const found = bound.get(purpose);
    return found ? Promise.resolve(found) : Promise.reject(new Error(`no policy ${purpose}`));
  };
  kept = { policies, store: { bind, active: (purpose) => Promise.resolve(bound.get(purpose) ?? null), purposes: () => Promise.resolve([...bound.keys()]) } };
  return kept;
};
