import type { Channel } from '../domain/words.ts';
import type { Database, Statement } from './database.ts';
import { toHexBytes, toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';

/** A consent that was taken back for a destination, by its fingerprint; `basis` empty for every one. */
export interface NewWithdrawal { tenant: string; channel: Channel; addressPrint: Uint8Array; basis: string; reason: string; at: number; actor: string }

const INSERT: Statement = {
  name: 'tocsin_withdraw_consent_v1',
  text: `INSERT INTO consent_withdrawal (tenant, channel, address_print, basis, reason, at, actor) VALUES ($1, $2, $3::bytea, $4, $5, $6::timestamptz, $7)
         ON CONFLICT (address_print, channel, tenant, basis) WHERE restored_at IS NULL DO NOTHING RETURNING id`,
};

/** Takes a consent back from now on; false where it was taken back already. Waits for the starts to that destination that are being committed. */
export const insertWithdrawal = async (db: Statements, one: NewWithdrawal): Promise<boolean> =>
  (await db.query(INSERT, [one.tenant, one.channel, toHexBytes(one.addressPrint), one.basis, one.reason, toTimestamp(one.at), one.actor])).length > 0;

const RESTORE: Statement = {
  name: 'tocsin_restore_consents_v1',
  text: `UPDATE consent_withdrawal SET restored_at = $5::timestamptz, restored_by = $6, restored_reason = $7
          WHERE tenant = $1 AND channel = $2 AND address_print = $3::bytea AND ($4::text IS NULL OR basis = $4) AND restored_at IS NULL RETURNING id`,
};

/** Gives a consent again that was taken back, or with `basis` undefined every one of that destination; returns how many. The rows stay as a record. */
export const restoreConsents = async (db: Statements, where: { tenant: string; channel: Channel; addressPrint: Uint8Array; basis: string | undefined }, by: { at: number; actor: string; reason: string }): Promise<number> =>
  (await db.query(RESTORE, [where.tenant, where.channel, toHexBytes(where.addressPrint), where.basis ?? null, toTimestamp(by.at), by.actor, by.reason])).length;

/** Consents that were taken back, the newest first: those that are, and with `restored` those that were given again too. */
export const listWithdrawals = async (db: Database, where: { tenant?: string | undefined; channel?: Channel | undefined; addressPrint?: Uint8Array | undefined; restored: boolean; limit: number }) =>
  db.prisma.consentWithdrawal.findMany({
    where: {
      ...(where.tenant === undefined ? {} : { tenant: where.tenant }), ...(where.channel === undefined ? {} : { channel: where.channel }),
      ...(where.addressPrint === undefined ? {} : { addressPrint: new Uint8Array(where.addressPrint) }), ...(where.restored ? {} : { restoredAt: null }),
    },
    orderBy: { id: 'desc' }, take: where.limit,
  });
export type WithdrawalRecord = Awaited<ReturnType<typeof listWithdrawals>>[number];
