import { hasErrors, isWithinVersion } from '../content/lint.ts';
import type { Linted } from '../content/lint.ts';
import { checkPublished } from '../content/published-check.ts';
import type { PublishedVersion } from '../content/published-check.ts';
import { isError } from '../content/yaml-file.ts';
import type { FileProblem } from '../content/yaml-file.ts';
import type { Policy } from '../domain/policy.ts';
import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import { activateVersion, listPolicyVersions, listTemplateVersions } from '../ledger/activations.ts';
import type { Database } from '../ledger/database.ts';
import { inTransaction } from '../ledger/transaction.ts';
import { publishOnly } from '../ledger/versions.ts';
import type { Engine } from './engine.ts';
import { sealReason } from './operator-reason.ts';

/** What the reason of an activation is sealed under: it belongs to no notification. */
export const activationContext = (purpose: string): string => `activation/${purpose}`;

/** Every version that this database has published. */
export const publishedVersions = async (db: Database): Promise<PublishedVersion[]> => [
  ...(await listPolicyVersions(db)).map(({ purpose, version, hash, activation }) => ({ kind: 'policy' as const, name: purpose, version, hash, activatedAt: activation?.at.getTime() ?? null })),
  ...(await listTemplateVersions(db)).map(({ name, version, hash }) => ({ kind: 'template' as const, name, version, hash, activatedAt: null })),
];

export interface ActivationRequest { purpose: string; version: number; reason: string; actor: string; /** Who does it, for the trail. */ audit?: AuditActor; /** The folders of policies and templates, read and checked. */ linted: Linted }

export type ActivationOutcome =
  | { kind: 'activated'; before: number | null }
  /** It was active already; nothing was written. */
  | { kind: 'active'; before: number }
  /** Neither in the folder nor published. `versions` of the purpose that are; none for an unknown purpose, whose `purposes` are then told. */
  | { kind: 'unknown'; versions: number[]; purposes: string[] }
  | { kind: 'faulty'; problems: FileProblem[] };

/** Errors of one policy version and of the templates of its steps. */
const faultsOf = ({ problems }: Pick<Linted, 'problems'>, { purpose, version }: { purpose: string; version: number }, policy: Policy | undefined): FileProblem[] =>
  problems.filter((one) => isError(one) && (isWithinVersion(one, purpose, version) || policy?.steps.some((step) => isWithinVersion(one, step.template, step.templateVersion))));

/**
 * Makes a version the one that new notifications of its purpose take; what was accepted before stays bound to its own. A version
 * that stands in the folder must lint, and is published first where it was not; one that is only published any more was checked then.
 * Running services take it up within a second.
 */
export const activatePolicy = async (engine: Engine, request: ActivationRequest): Promise<ActivationOutcome> => {
  const { purpose, version, linted } = request;
  const records = await listPolicyVersions(engine.db);
  const filed = linted.policies.find(({ policy }) => policy.purpose === purpose && policy.version === version)?.policy;
  const problems = [...linted.problems, ...checkPublished(linted, await publishedVersions(engine.db))];
  const faults = faultsOf({ problems }, request, filed);
  if (hasErrors(faults)) return { kind: 'faulty', problems: faults };
  if (filed) {
    const templates = linted.templates.map(({ template }) => template).filter(({ name, version: number }) => filed.steps.some((step) => step.template === name && step.templateVersion === number));
    await publishOnly(engine.db, { policies: [filed], templates: templates.map((template) => ({ name: template.name, version: template.version, definition: template })), now: engine.now() });
  } else if (!records.some((one) => one.purpose === purpose && one.version === version)) {
    const all = [...records, ...linted.policies.map(({ policy }) => policy)];
    const versions = [...new Set(all.filter((one) => one.purpose === purpose).map((one) => one.version))].sort((one, other) => one - other);
    return { kind: 'unknown', versions, purposes: [...new Set(all.map((one) => one.purpose))].sort() };
  }
  const before = records.find((one) => one.purpose === purpose && one.active)?.version ?? null;
  const { audit, actor } = request;
  const reason = sealReason(engine, activationContext(purpose), request.reason);
  const written = await inTransaction(engine.db, async (tx) => {
    const activated = await activateVersion(tx, { purpose, version, at: engine.now(), actor, reason });
    if (audit !== undefined) await insertAudit(tx, audit, [{ action: 'policy.activate', target: `${purpose}/${version}`, result: activated ? 'done' : 'unchanged', reason: reason.code }], engine.now());
    return activated;
  });
  return written ? { kind: 'activated', before } : { kind: 'active', before: version };
};
