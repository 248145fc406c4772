import type { PublicKey } from '../security/signing-key.ts';
import type { Asker } from './checkpoint-read.ts';
import { tombstoneFault } from './tombstone.ts';
import type { BuriedHead, Tombstone } from './tombstone.ts';
import type { Faults } from './verify-fault.ts';
import type { Buried } from './verify-runs.ts';

export interface StoredTombstone extends Tombstone { tombstoneId: string; heads: BuriedHead[] }

interface Row { tombstone_id: string; body: string; key_id: string; signature: Buffer }
interface HeadRow { event_id: string; version: number; hash: string; stands: boolean }

/** Every tombstone with its heads, the oldest first, one at a time; each head says whether anything of its notification stands. */
export const streamTombstones = async function* (asker: Asker): AsyncGenerator<StoredTombstone & { standing: string[] }> {
  for (let after = '0'; ;) {
    const { rows: [row] } = await asker.query<Row>({ name: 'tocsin_tombstones_v1', text: 'SELECT tombstone_id::text, body, key_id, signature FROM ledger_tombstone WHERE tombstone_id > $1::bigint ORDER BY tombstone_id LIMIT 1', values: [after] });
    if (!row) return;
    after = row.tombstone_id;
    const { rows } = await asker.query<HeadRow>({
      name: 'tocsin_tombstone_heads_v1',
      text: `SELECT h.event_id, h.version, encode(h.head_hash, 'hex') AS hash,
               EXISTS (SELECT FROM notification n WHERE n.event_id = h.event_id) OR EXISTS (SELECT FROM ledger_entry e WHERE e.event_id = h.event_id) AS stands
               FROM tombstone_head h WHERE h.tombstone_id = $1::bigint ORDER BY h.event_id`,
      values: [after],
    });
    yield {
      tombstoneId: after, body: row.body, keyId: row.key_id, signature: row.signature, heads: rows.map(({ event_id: eventId, version, hash }) => ({ eventId, version, hash })),
      standing: rows.filter((head) => head.stands).map((head) => head.event_id),
    };
  }
};

/** Of some events, those that a tombstone names, with its number. */
const headsOf = async (asker: Asker, eventIds: readonly string[]): Promise<(BuriedHead & { tombstoneId: string })[]> =>
  (await asker.query<{ event_id: string; version: number; hash: string; tombstone_id: string }>({
    name: 'tocsin_buried_v1', text: `SELECT event_id, version, encode(head_hash, 'hex') AS hash, tombstone_id::text FROM tombstone_head WHERE event_id = ANY($1::text[])`, values: [eventIds],
  })).rows.map((row) => ({ eventId: row.event_id, version: row.version, hash: row.hash, tombstoneId: row.tombstone_id }));

/**
 * Checks every tombstone, and gives what tells of the notifications that genuine ones name. A removal that none names is found by the
 * checkpoints that saw what is missing.
 */
export const verifyTombstones = async (asker: Asker, { faults, keys, eventId }: { faults: Faults; keys: readonly PublicKey[] | null; eventId?: string }): Promise<{ tombstones: { tombstones: number; removed: number }; buried: Buried }> => {
  const genuine = new Set<string>();
  let removed = 0;
  for await (const stone of streamTombstones(asker)) {
    const fault = tombstoneFault(stone, stone.heads, keys);
    if (fault === null) {
      genuine.add(stone.tombstoneId);
      removed += stone.heads.length;
    } else if (eventId === undefined || stone.heads.some((head) => head.eventId === eventId)) faults.add({}, fault.column, `of tombstone ${stone.tombstoneId} ${fault.text}`);
    for (const standing of stone.standing) if (eventId === undefined || standing === eventId) faults.add({ eventId: standing }, 'tombstone.heads', `tombstone ${stone.tombstoneId} says that it was removed, and it stands`);
  }
  return {
    tombstones: { tombstones: genuine.size, removed },
    buried: async (eventIds) => new Map(genuine.size === 0 || eventIds.length === 0 ? [] : (await headsOf(asker, eventIds)).filter((head) => genuine.has(head.tombstoneId)).map((head) => [head.eventId, head])),
  };
};

/** The number and instant of the tombstone of a notification; null where it was not removed. */
export const findBuried = async (asker: Asker, eventId: string): Promise<{ tombstoneId: string; at: number } | null> => {
  const { rows: [row] } = await asker.query<{ tombstone_id: string; at: Date }>('SELECT t.tombstone_id::text, t.at FROM tombstone_head h JOIN ledger_tombstone t USING (tombstone_id) WHERE h.event_id = $1', [eventId]);
  return row ? { tombstoneId: row.tombstone_id, at: row.at.getTime() } : null;
};
