import type { Policy } from '../domain/policy.ts';
import type { TemplateVersion } from '../content/template.ts';
import type { Database } from '../ledger/database.ts';
import { loadActivePolicies, loadPolicy, loadTemplate } from '../ledger/versions.ts';

/** A policy version with the template versions of its steps, as a decision needs them. */
export interface BoundVersions { policy: Policy; templates: ReadonlyMap<string, TemplateVersion> }

export interface VersionStore {
  /** The versions a notification is bound to for life. Cached for good: a published version never changes. */
  bind: (purpose: string, version: number) => Promise<BoundVersions>;
  /** The versions that new notifications of a purpose take; null for an unknown purpose. Read anew every second. */
  active: (purpose: string) => Promise<BoundVersions | null>;
  /** Purposes that have an active policy. */
  purposes: () => Promise<string[]>;
}

/** Key of a template version in `BoundVersions.templates`. */
export const templateKey = (name: string, version: number): string => `${name} ${version}`;

/** An activation is taken up within this time, and costs one read in it, however many notifications are accepted. */
const ACTIVE_FOR_MS = 1_000;

/** The versions of this deployment, read from the database and kept. */
export const createVersionStore = (db: Database, monotonic: () => number): VersionStore => {
  const bound = new Map<string, Promise<BoundVersions>>();
  /** What is active now, and what of it was asked for already: a request asks half a dozen times. */
  let active: { until: number; policies: Promise<Policy[]>; asked: Map<string, Promise<BoundVersions | null>> } | null = null;

  const fetchBound = async (purpose: string, version: number): Promise<BoundVersions> => {
    const policy = await loadPolicy(db, purpose, version);
    if (!policy) throw new Error(`policy ${purpose} version ${version} was never published`);
    const templates = await Promise.all(policy.steps.map(async (step) => {
      const definition = await loadTemplate(db, step.template, step.templateVersion);
      if (definition === null) throw new Error(`template ${step.template} version ${step.templateVersion} was never published`);
      return [templateKey(step.template, step.templateVersion), definition as TemplateVersion] as const;
    }));
    return { policy, templates: new Map(templates) };
  };
  const bind = (purpose: string, version: number): Promise<BoundVersions> => {
    const key = `${purpose} ${version}`;
    const known = bound.get(key);
    if (known) return known;
    const fetched = fetchBound(purpose, version);
    bound.set(key, fetched);
    // A failed read must not be remembered.
    fetched.catch(() => bound.delete(key));
    return fetched;
  };
  const activeNow = (): NonNullable<typeof active> => {
    if (active === null || active.until <= monotonic()) {
      const policies = loadActivePolicies(db);
      active = { until: monotonic() + ACTIVE_FOR_MS, policies, asked: new Map() };
      policies.catch(() => { active = null; });
    }
    return active;
  };
  const findActive = async (policies: Promise<Policy[]>, purpose: string): Promise<BoundVersions | null> => {
    const policy = (await policies).find((one) => one.purpose === purpose);
    return policy ? bind(purpose, policy.version) : null;
  };
  return {
    bind,
    active: (purpose) => {
      const { policies, asked } = activeNow();
      const known = asked.get(purpose);
      if (known) return known;
      const found = findActive(policies, purpose);
      asked.set(purpose, found);
      // Neither a failed read is remembered, nor a purpose that somebody made up.
      found.then((bound) => { if (bound === null) asked.delete(purpose); }, () => asked.delete(purpose));
      return found;
    },
    purposes: async () => (await activeNow().policies).map((policy) => policy.purpose).sort(),
  };
};
