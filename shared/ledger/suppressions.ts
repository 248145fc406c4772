import type { Channel } from '../domain/words.ts';
import type { Database, Statement } from './database.ts';
import { toHexBytes, toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';

/** Where a suppression comes from. */
export type SuppressionSource = 'provider' | 'hand' | 'stop' | 'unsubscribe';

/** A destination that must not be contacted any more, by its fingerprints; `senderPrint` null for every sender. */
export interface NewSuppression {
  tenant: string; channel: Channel; addressPrint: Uint8Array; senderPrint: Uint8Array | null; reason: string; source: SuppressionSource; at: number; actor: string;
}

const INSERT: Statement = {
  name: 'tocsin_suppress_v1',
  text: `INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor)
         VALUES ($1, $2, $3::bytea, $4::bytea, $5, $6, $7::timestamptz, $8)
         ON CONFLICT (address_print, channel, tenant, sender_print) WHERE removed_at IS NULL DO NOTHING RETURNING id`,
};

/** Suppresses a destination from now on; false where it was suppressed already, for that sender or for every one alike. */
export const insertSuppression = async (db: Statements, one: NewSuppression): Promise<boolean> => {
  const sender = one.senderPrint === null ? '\\x' : toHexBytes(one.senderPrint);
  const rows = await db.query(INSERT, [one.tenant, one.channel, toHexBytes(one.addressPrint), sender, one.reason, one.source, toTimestamp(one.at), one.actor]);
  return rows.length > 0;
};

const REMOVE: Statement = {
  name: 'tocsin_take_suppressions_back_v1',
  text: `UPDATE suppression SET removed_at = $4::timestamptz, removed_by = $5, removed_reason = $6
          WHERE tenant = $1 AND channel = $2 AND address_print = $3::bytea AND removed_at IS NULL RETURNING id`,
};

/** Takes back every suppression of a destination, whatever sender it is for; returns how many held. The rows stay as a record. */
export const removeSuppressions = async (db: Statements, where: { tenant: string; channel: Channel; addressPrint: Uint8Array }, by: { at: number; actor: string; reason: string }): Promise<number> =>
  (await db.query(REMOVE, [where.tenant, where.channel, toHexBytes(where.addressPrint), toTimestamp(by.at), by.actor, by.reason])).length;

/** Suppressions, the newest first: those that hold, and with `removed` those that were taken back too. */
export const listSuppressions = async (db: Database, where: { tenant?: string | undefined; channel?: Channel | undefined; addressPrint?: Uint8Array | undefined; removed: boolean; limit: number }) =>
  db.prisma.suppression.findMany({
    where: {
      ...(where.tenant === undefined ? {} : { tenant: where.tenant }), ...(where.channel === undefined ? {} : { channel: where.channel }),
      ...(where.addressPrint === undefined ? {} : { addressPrint: new Uint8Array(where.addressPrint) }), ...(where.removed ? {} : { removedAt: null }),
    },
    orderBy: { id: 'desc' }, take: where.limit,
  });
export type SuppressionRecord = Awaited<ReturnType<typeof listSuppressions>>[number];
