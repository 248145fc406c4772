import type { Policy } from '../domain/policy.ts';
import type { Sealed } from '../security/sealing.ts';
import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';

/** Who made a version the one that new notifications take, when, and why; `reason` is a code, and the box holds what was said beyond it. */
export interface Activation { purpose: string; version: number; at: Date; actor: string; reason: string; keyId: string | null; box: Buffer | null }

/** A published policy version. `activation` is its newest one. */
export interface PolicyRecord { purpose: string; version: number; hash: string; definition: Policy; publishedAt: Date; active: boolean; activation: Activation | null }

export interface TemplateRecord { name: string; version: number; hash: string; definition: unknown; publishedAt: Date }

// The newest row says what is active: writing it again would say nothing new.
const ACTIVATE: Statement = {
  name: 'tocsin_activate_v1',
  text: `INSERT INTO policy_activation (purpose, version, activated_at, actor, reason, reason_key_id, reason_box)
         SELECT $1, $2::integer, $3::timestamptz, $4, $5, $6, $7::bytea
          WHERE $2::integer IS DISTINCT FROM (SELECT version FROM policy_activation WHERE purpose = $1 ORDER BY id DESC LIMIT 1)
         RETURNING id`,
};

/** Makes a published version the one that new notifications of its purpose take. False where it is already. */
export const activateVersion = async (db: Statements, one: { purpose: string; version: number; at: number; actor: string; reason: { code: string; sealed: Sealed | null } }): Promise<boolean> => {
  const { code, sealed } = one.reason;
  const rows = await db.query<{ id: string }>(ACTIVATE, [one.purpose, one.version, toTimestamp(one.at), one.actor, code, sealed?.keyId ?? null, sealed ? Buffer.from(sealed.box) : null]);
  return rows.length > 0;
};

interface ActivationRow { purpose: string; version: number; activated_at: Date; actor: string; reason: string; reason_key_id: string | null; reason_box: Uint8Array | null }

const toActivation = (row: ActivationRow): Activation => ({
  purpose: row.purpose, version: row.version, at: row.activated_at, actor: row.actor, reason: row.reason, keyId: row.reason_key_id, box: row.reason_box && Buffer.from(row.reason_box),
});

/** The activations of a purpose, or of all, the newest first. */
export const listActivations = async (db: Database, filter: { purpose?: string | undefined; limit: number }): Promise<Activation[]> => {
  const rows = await db.prisma.$queryRaw<ActivationRow[]>`
    SELECT purpose, version, activated_at, actor, reason, reason_key_id, reason_box FROM policy_activation
     WHERE ${filter.purpose ?? null}::text IS NULL OR purpose = ${filter.purpose ?? null}::text
     ORDER BY id DESC LIMIT ${filter.limit}`;
  return rows.map(toActivation);
};

/** Every published policy version, by purpose and number. */
export const listPolicyVersions = async (db: Database): Promise<PolicyRecord[]> => {
  const versions = await db.prisma.policyVersion.findMany({ orderBy: [{ purpose: 'asc' }, { version: 'asc' }] });
  const rows = await db.prisma.$queryRaw<(ActivationRow & { active: boolean })[]>`
    SELECT DISTINCT ON (purpose, version) purpose, version, activated_at, actor, reason, reason_key_id, reason_box,
           id = max(id) OVER (PARTITION BY purpose) AS active
      FROM policy_activation ORDER BY purpose, version, id DESC`;
  return versions.map((one) => {
    const row = rows.find((other) => other.purpose === one.purpose && other.version === one.version);
    return {
      purpose: one.purpose, version: one.version, hash: one.hash, definition: one.definition as unknown as Policy, publishedAt: one.createdAt, active: row?.active ?? false, activation: row ? toActivation(row) : null,
    };
  });
};

/** Every published template version, by name and number. */
export const listTemplateVersions = async (db: Database): Promise<TemplateRecord[]> => {
  const rows = await db.prisma.templateVersion.findMany({ orderBy: [{ name: 'asc' }, { version: 'asc' }] });
  return rows.map(({ createdAt, ...row }) => ({ ...row, publishedAt: createdAt }));
};
