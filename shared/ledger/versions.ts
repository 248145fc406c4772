import type { Policy } from '../domain/policy.ts';
import { definitionHash } from '../security/definition-hash.ts';
import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { Prisma } from './generated/client.ts';

/** A template version as it is stored: name and number, and its whole definition as plain JSON. */
export interface StoredTemplate { name: string; version: number; definition: unknown }

/** A published version whose file says something else now. */
export class VersionChangedError extends Error {
  override readonly name = 'VersionChangedError';
}

const PUBLISH_POLICIES: Statement = {
  name: 'tocsin_publish_policies_v1',
  text: `INSERT INTO policy_version (purpose, version, hash, definition, created_at)
         SELECT purpose, version, hash, definition, $2::timestamptz FROM jsonb_to_recordset($1::jsonb) AS p(purpose text, version integer, hash text, definition jsonb)
         ON CONFLICT DO NOTHING`,
};
const PUBLISH_TEMPLATES: Statement = {
  name: 'tocsin_publish_templates_v1',
  text: `INSERT INTO template_version (name, version, hash, definition, created_at)
         SELECT name, version, hash, definition, $2::timestamptz FROM jsonb_to_recordset($1::jsonb) AS t(name text, version integer, hash text, definition jsonb)
         ON CONFLICT DO NOTHING`,
};
// A purpose takes up the newest of these versions, unless a person has activated another one.
const ACTIVATE: Statement = {
  name: 'tocsin_activate_newest_v2',
  text: `INSERT INTO policy_activation (purpose, version, activated_at, actor)
         SELECT v.purpose, max(v.version), $1::timestamptz, 'boot' FROM unnest($2::text[], $3::integer[]) AS v(purpose, version)
          GROUP BY v.purpose
         HAVING max(v.version) > coalesce((SELECT max(a.version) FROM policy_activation a WHERE a.purpose = v.purpose), 0)`,
};

interface Shipped { policies: readonly Policy[]; templates: readonly StoredTemplate[]; now: number }

/**
 * Publishes policy and template versions, and activates none: each number is written once and never changes.
 * @throws VersionChangedError where a published number has another content now; give the file a new number.
 */
export const publishOnly = async (db: Database, shipped: Shipped): Promise<void> => {
  const policies = shipped.policies.map((policy) => ({ purpose: policy.purpose, version: policy.version, hash: definitionHash(policy), definition: policy }));
  const templates = shipped.templates.map((template) => ({ name: template.name, version: template.version, hash: definitionHash(template.definition), definition: template.definition }));
  const at = toTimestamp(shipped.now);
  await db.query(PUBLISH_TEMPLATES, [JSON.stringify(templates), at]);
  await db.query(PUBLISH_POLICIES, [JSON.stringify(policies), at]);
  const storedPolicies = await db.prisma.policyVersion.findMany({ select: { purpose: true, version: true, hash: true } });
  const storedTemplates = await db.prisma.templateVersion.findMany({ select: { name: true, version: true, hash: true } });
  for (const one of policies) refuseChange(`policy ${one.purpose}`, one, storedPolicies.find((row) => row.purpose === one.purpose && row.version === one.version));
  for (const one of templates) refuseChange(`template ${one.name}`, one, storedTemplates.find((row) => row.name === one.name && row.version === one.version));
};

/**
 * Publishes the shipped policy and template versions; a purpose takes up its newest one, unless a higher one was active before. Those
 * that are `unfit` are published and not taken up.
 * @throws VersionChangedError as `publishOnly`.
 */
export const publishVersions = async (db: Database, shipped: Shipped & { unfit?: readonly { purpose: string; version: number }[] }): Promise<void> => {
  await publishOnly(db, shipped);
  const fit = shipped.policies.filter(({ purpose, version }) => !shipped.unfit?.some((one) => one.purpose === purpose && one.version === version));
  await db.query(ACTIVATE, [toTimestamp(shipped.now), fit.map(({ purpose }) => purpose), fit.map(({ version }) => version)]);
};

const refuseChange = (what: string, ours: { version: number; hash: string }, stored: { hash: string } | undefined): void => {
  if (stored && stored.hash !== ours.hash) {
    throw new VersionChangedError(`${what} version ${ours.version} was published with another content; a published version never changes: give the changed file the next number`);
  }
};

/** The active version of every purpose. */
export const loadActivePolicies = async (db: Database): Promise<Policy[]> => {
  const rows = await db.prisma.$queryRaw<{ definition: Prisma.JsonValue }[]>`
    SELECT v.definition FROM (SELECT DISTINCT ON (purpose) purpose, version FROM policy_activation ORDER BY purpose, id DESC) a
      JOIN policy_version v ON v.purpose = a.purpose AND v.version = a.version`;
  return rows.map((row) => row.definition as unknown as Policy);
};

/** One policy version; null where it was never published. */
export const loadPolicy = async (db: Database, purpose: string, version: number): Promise<Policy | null> => {
  const row = await db.prisma.policyVersion.findUnique({ where: { purpose_version: { purpose, version } } });
  return row ? (row.definition as unknown as Policy) : null;
};

/** The definition of one template version; null where it was never published. */
export const loadTemplate = async (db: Database, name: string, version: number): Promise<unknown> => {
  const row = await db.prisma.templateVersion.findUnique({ where: { name_version: { name, version } } });
  return row?.definition ?? null;
};

/** The bases of a consent that any published policy names, in their alphabet. */
export const readNamedBases = async (db: Database): Promise<string[]> => {
  const rows = await db.prisma.$queryRaw<{ basis: string }[]>`
    SELECT DISTINCT named.basis #>> '{}' AS basis FROM policy_version v CROSS JOIN LATERAL jsonb_path_query(v.definition, '$.regions.*.consent.*[*]') AS named(basis) ORDER BY 1`;
  return rows.map(({ basis }) => basis);
};
