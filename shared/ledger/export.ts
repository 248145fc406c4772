import { createHash } from 'node:crypto';
import type { PublicKey } from '../security/signing-key.ts';
import { toLine } from './checkpoint.ts';
import { newestGenuine } from './checkpoint-genuine.ts';
import { clusterOf, streamCheckpoints } from './checkpoint-read.ts';
import type { Asker } from './checkpoint-read.ts';
import type { Database } from './database.ts';
import { inSnapshot } from './verify-database.ts';
import { readIntents, streamEntries } from './verify-rows.ts';
import type { IntentRow } from './verify-intent.ts';
import { streamTombstones } from './verify-tombstones.ts';

/** The formats of the lines; a reader refuses what it does not know. The second has tombstones, and is written only where there are some. */
export const EXPORT_FORMATS = { plain: 1, withTombstones: 2 } as const;
const PAGE = 200;

export interface ExportCounts { notifications: number; entries: number; checkpoints: number }
export interface ExportOptions {
  now: number;
  /** Told in the first line, for whoever wants to compare them with what the deployment published. */
  publicKeys: readonly PublicKey[];
  /** Writes one line without its line end; waited for. */
  write: (line: string) => Promise<void>;
  onProgress?: (counts: ExportCounts) => void;
}

const intentLine = (row: IntentRow) => ({ kind: 'intent', event_id: row.event_id, intent: row.intent, hash: row.intent_hash.toString('hex') });

type Write = (line: object) => Promise<void>;

/** Intents and entries of a page, each intent before its entries. Returns where the next page begins; null at the end. */
const writePage = async (asker: Asker, after: string, { write, counts }: { write: Write; counts: ExportCounts }): Promise<string | null> => {
  const intents = await readIntents(asker, after, PAGE);
  const through = intents.length < PAGE ? null : intents.at(-1)?.event_id ?? null;
  const writeIntents = async (upTo: string | null): Promise<void> => {
    for (let next = intents[0]; next && (upTo === null || next.event_id <= upTo); next = intents[0]) {
      intents.shift();
      await write(intentLine(next));
      counts.notifications += 1;
    }
  };
  for await (const row of streamEntries(asker, { after, through })) {
    await writeIntents(row.event_id);
    await write({ kind: 'entry', event_id: row.event_id, version: row.version, position: row.position, xid: row.xid, body: row.body, hash: row.hash.toString('hex') });
    counts.entries += 1;
  }
  await writeIntents(null);
  return through;
};

/**
 * Writes the whole ledger as JSON lines, as of one instant: a head, the checkpoints, the tombstones, every intent with its entries, and an end
 * that counts and sums up what came before. Nothing sealed is in it. Memory stays flat.
 */
export const exportLedger = (db: Database, options: ExportOptions): Promise<ExportCounts> => inSnapshot(db, async (asker) => {
  const counts: ExportCounts = { notifications: 0, entries: 0, checkpoints: 0 };
  const sum = createHash('sha256');
  const writeText = async (line: string): Promise<void> => {
    sum.update(`${line}\n`);
    await options.write(line);
  };
  const write: Write = (line) => writeText(JSON.stringify(line));
  const ledger = (await newestGenuine(asker, options.publicKeys.length > 0 ? options.publicKeys : null))?.ledger ?? null;
  const { rows: [buried] } = await asker.query('SELECT FROM ledger_tombstone LIMIT 1');
  await write({ kind: 'ledger', format: buried ? EXPORT_FORMATS.withTombstones : EXPORT_FORMATS.plain, exported_at: options.now, ledger, cluster: await clusterOf(asker), public_keys: options.publicKeys.map((key) => key.text) });
  for await (const one of streamCheckpoints(asker)) {
    await writeText(`{"kind":"checkpoint",${toLine(one, ledger ?? '').slice(1)}`);
    counts.checkpoints += 1;
  }
  for await (const { body, keyId, signature, heads } of streamTombstones(asker)) {
    await write({ kind: 'tombstone', body, key: keyId, signature: signature.toString('base64url'), heads: heads.map((head) => [head.eventId, head.version, head.hash]) });
  }
  for (let after: string | null = ''; after !== null;) {
    after = await writePage(asker, after, { write, counts });
    options.onProgress?.(counts);
  }
  await options.write(JSON.stringify({ kind: 'end', ...counts, sha256: sum.digest('hex') }));
  return counts;
});
