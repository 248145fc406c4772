import type { OptOutWord } from '../domain/opt-out-words.ts';
import type { Database, Statement } from './database.ts';
import { toHexBytes, toTimestamp } from './instants.ts';

/** The inbound messages of one provider to one sender of ours. */
export interface InboundLine { provider: string; senderPrint: Uint8Array }

const CLAIM: Statement = {
  name: 'tocsin_claim_inbound_v1',
  text: `INSERT INTO inbound_cursor AS c (provider, sender_print, read_until, next_at) VALUES ($1, $2::bytea, $3::timestamptz, $4::timestamptz)
         ON CONFLICT (provider, sender_print) DO UPDATE SET next_at = EXCLUDED.next_at WHERE c.next_at <= $5::timestamptz RETURNING read_until`,
};

/** Takes the read that is due, until `busyUntil`; until when everything has been read, or `firstFrom` at the very first. Null where none is due, or another process has it. */
export const claimInbound = async (db: Database, line: InboundLine, when: { now: number; busyUntil: number; firstFrom: number }): Promise<number | null> => {
  const [row] = await db.query<{ read_until: Date }>(CLAIM, [line.provider, toHexBytes(line.senderPrint), toTimestamp(when.firstFrom), toTimestamp(when.busyUntil), toTimestamp(when.now)]);
  return row?.read_until.getTime() ?? null;
};

const FINISH: Statement = {
  name: 'tocsin_finish_inbound_v1',
  text: `UPDATE inbound_cursor SET read_until = greatest(read_until, coalesce($3::timestamptz, read_until)), next_at = $4::timestamptz
          WHERE provider = $1 AND sender_print = $2::bytea`,
};

/** Ends a read: everything up to `readUntil` was read (null: not all of it was, so that it is read again), and the next one is due at `nextAt`. */
export const finishInbound = async (db: Database, line: InboundLine, end: { readUntil: number | null; nextAt: number }): Promise<void> => {
  await db.query(FINISH, [line.provider, toHexBytes(line.senderPrint), end.readUntil === null ? null : toTimestamp(end.readUntil), toTimestamp(end.nextAt)]);
};

/** A word as its message brought it; `receivedAt` by the provider's clock. */
export interface HeardWord extends InboundLine { messageId: string; word: OptOutWord; addressPrint: Uint8Array; receivedAt: number; now: number }

/** What a word came to: `standing` was suppressed already, `nothing` had nothing to take back, `outdated` came before another word of the same person. */
export type WordResult = 'suppressed' | 'standing' | 'lifted' | 'nothing' | 'outdated';

const HEAR: Statement = {
  name: 'tocsin_hear_word_v1',
  text: 'SELECT tocsin_hear_word($1, $2, $3, $4::bytea, $5::bytea, $6::timestamptz, $7::timestamptz) AS result',
};

/** Does what a word says; null where this message was heard before. Once a stop is answered, no submission to its number is started any more. */
export const hearWord = async (db: Database, { provider, messageId, word, addressPrint, senderPrint, receivedAt, now }: HeardWord): Promise<WordResult | null> => {
  const [row] = await db.query<{ result: WordResult | null }>(HEAR, [provider, messageId, word, toHexBytes(addressPrint), toHexBytes(senderPrint), toTimestamp(receivedAt), toTimestamp(now)]);
  return row?.result ?? null;
};

/** As many destinations as one statement may hold the locks of. */
const BATCH = 500;

const INHERIT: Statement = {
  name: 'tocsin_inherit_stops_v1',
  // In the order in which appends take the same locks, so that they wait for each other instead of deadlocking.
  text: `INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor)
         SELECT $1, 'sms', o.address_print, o.sender_print, o.reason, 'stop', o.at, o.actor FROM (
           SELECT DISTINCT ON (x.address_print, x.sender_print) x.* FROM suppression x
            WHERE x.removed_at IS NULL AND x.source = 'stop' AND x.channel = 'sms' AND NOT EXISTS (
              SELECT FROM suppression y WHERE y.removed_at IS NULL AND y.address_print = x.address_print AND y.channel = 'sms' AND y.tenant = $1 AND y.sender_print = x.sender_print)
            LIMIT ${BATCH}) o
         ORDER BY tocsin_destination_lock(o.address_print)
         ON CONFLICT (address_print, channel, tenant, sender_print) WHERE removed_at IS NULL DO NOTHING RETURNING id`,
};

/** Has a tenant that is new here keep to what recipients said before it came: the number that they answered is the whole deployment's. Returns how many. */
export const inheritStops = async (db: Database, tenant: string): Promise<number> => {
  for (let all = 0; ;) {
    const added = (await db.query(INHERIT, [tenant])).length;
    all += added;
    if (added < BATCH) return all;
  }
};
