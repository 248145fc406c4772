import type { Database } from './database.ts';
import type { SealedBox } from './rows.ts';
import type { StoredState } from './stored-state.ts';
import { unpackState } from './stored-state.ts';

/** Attempts of an event by their keys, which begin with its id and a dot: a range of the primary key. By the event's own column it would be all attempts. */
const keysOf = (eventId: string) => ({ attemptKey: { gt: `${eventId}.`, lt: `${eventId}/` } });

/** Everything a page or an answer shows of one notification; neutral of addresses and texts. */
export const readNotification = async (db: Database, where: { eventId: string; tenant?: string }) => {
  const row = await db.prisma.notification.findUnique({
    where: { eventId: where.eventId },
    include: { current: true, attempts: { where: keysOf(where.eventId), orderBy: [{ plannedAt: 'asc' }, { step: 'asc' }] } },
  });
  if (!row || !row.current || (where.tenant !== undefined && row.tenant !== where.tenant)) return null;
  return { ...row, current: { ...row.current, state: unpackState(row.current.state as unknown as StoredState) } };
};
export type NotificationRecord = NonNullable<Awaited<ReturnType<typeof readNotification>>>;

/** The version and status of a notification, and whether anything may still happen to it by itself; null where there is none. One row by its key. */
export const readVersion = async (db: Database, eventId: string): Promise<{ version: number; status: string; open: boolean } | null> => {
  const rows = await db.prisma.$queryRaw<{ version: number; status: string; open: boolean }[]>`SELECT version, status, state->>'settledAt' IS NULL AS open FROM notification_state WHERE event_id = ${eventId}`;
  return rows[0] ?? null;
};

/** The tenant of a notification; null where there is none. */
export const tenantOf = async (db: Database, eventId: string): Promise<string | null> =>
  (await db.prisma.notification.findUnique({ where: { eventId }, select: { tenant: true } }))?.tenant ?? null;

/** Where the origin system of a notification is asked, sealed; null where it is not, or that was destroyed. */
export const preconditionOf = async (db: Database, eventId: string): Promise<SealedBox | null> => {
  const row = await db.prisma.sealedPayload.findUnique({ where: { eventId_part: { eventId, part: 'precondition' } }, select: { keyId: true, box: true } });
  return row && row.keyId !== null && row.box !== null ? { keyId: row.keyId, box: row.box } : null;
};

/** Whether that tenant has an API key or a notification. */
export const isKnownTenant = async (db: Database, tenant: string): Promise<boolean> =>
  (await db.prisma.apiKey.findFirst({ where: { tenant }, select: { id: true } })) !== null
  || (await db.prisma.notification.findFirst({ where: { tenant }, select: { eventId: true } })) !== null;

/** The entries of a notification, oldest first, after a version (0 for all). */
export const readEntries = async (db: Database, eventId: string, afterVersion = 0) =>
  db.prisma.ledgerEntry.findMany({ where: { eventId, version: { gt: afterVersion } }, orderBy: { version: 'asc' } });
export type EntryRecord = Awaited<ReturnType<typeof readEntries>>[number];

/** A ticket by its event id, or by the hash of its receipt token. The box is null once erased. */
export const readTicket = async (db: Database, by: { eventId: string } | { receiptTokenHash: Buffer }) => {
  const row = await db.prisma.ticket.findUnique({
    where: 'eventId' in by ? { eventId: by.eventId } : { receiptTokenHash: new Uint8Array(by.receiptTokenHash) },
  });
  if (!row) return null;
  const sealed: SealedBox | null = row.keyId !== null && row.box !== null ? { keyId: row.keyId, box: row.box } : null;
  return { ...row, sealed };
};
export type TicketRecord = NonNullable<Awaited<ReturnType<typeof readTicket>>>;

/** The newest sealed recipient, to try a key ring on; null where nothing is sealed yet. */
export const newestSealed = async (db: Database): Promise<(SealedBox & { eventId: string }) | null> => {
  const row = await db.prisma.recipient.findFirst({ where: { box: { not: null } }, orderBy: { eventId: 'desc' }, select: { eventId: true, keyId: true, box: true } });
  return row && row.keyId !== null && row.box !== null ? { eventId: row.eventId, keyId: row.keyId, box: row.box } : null;
};
