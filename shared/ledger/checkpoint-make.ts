import { randomBytes } from 'node:crypto';
import { canonicalText } from '../security/canonical.ts';
import { signBytes } from '../security/signing-key.ts';
import type { SigningKey } from '../security/signing-key.ts';
import { NO_CHECKPOINT_HASH, NO_SNAPSHOT, checkpointHash, signedBytes } from './checkpoint.ts';
import type { Checkpoint, CheckpointBody, Run } from './checkpoint.ts';
import { openChain } from './checkpoint-genuine.ts';
import type { Chain, Head } from './checkpoint-genuine.ts';
import { GAINED, clusterOf, gainedBetween } from './checkpoint-read.ts';
import type { Asker } from './checkpoint-read.ts';
import type { Database } from './database.ts';
import { toTimestamp } from './instants.ts';

/** Any number will do as long as every coordinator takes the same; another one than migrations take. */
const ADVISORY_LOCK = 7_262_130;
const MINUTE_MS = 60_000;
/** By how much the clock of one coordinator may be ahead of another's. */
const AHEAD_MS = 5 * MINUTE_MS;
/** What one checkpoint covers at most; a larger backlog is cut at the next transaction. */
const ENTRIES_EACH = 20_000;

/**
 * Does a work while no other coordinator does it. The lock is the session's: where the process dies, it ends with the
 * connection.
 */
export const withCheckpointLock = async <Result>(db: Database, work: (asker: Asker) => Promise<Result>): Promise<Result> => {
  const client = await db.pool.connect();
  let broken = false;
  try {
    await client.query('SELECT pg_advisory_lock($1)::text', [ADVISORY_LOCK]);
    try {
      return await work(client);
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCK]).catch(() => { broken = true; });
    }
  } catch (error) {
    broken = true;
    throw error;
  } finally {
    client.release(broken);
  }
};

// What a transaction that still runs has written is left to a later checkpoint, also where a younger one has ended: the snapshot
// remembers which those are. Where there is more than one checkpoint takes, the snapshot is cut before the transaction in which the
// surplus begins (never before the first: a transaction is covered whole).
const SNAPSHOT = `
WITH now AS (SELECT pg_current_snapshot() AS snap),
fresh AS (
  SELECT e.xid FROM now CROSS JOIN LATERAL ${gainedBetween('$1::pg_snapshot', 'now.snap')} e),
first AS (SELECT xid FROM fresh ORDER BY xid LIMIT 1),
surplus AS (SELECT xid FROM fresh ORDER BY xid OFFSET $2 LIMIT 1),
cut AS (
  SELECT CASE WHEN s.xid > f.xid THEN s.xid ELSE (SELECT n.xid FROM fresh n WHERE n.xid > f.xid ORDER BY n.xid LIMIT 1) END AS xid FROM surplus s, first f)
SELECT CASE WHEN cut.xid IS NULL THEN now.snap::text
    ELSE least(pg_snapshot_xmin(now.snap), cut.xid)::text || ':' || cut.xid::text || ':'
      || coalesce((SELECT string_agg(x::text, ',' ORDER BY x) FROM pg_snapshot_xip(now.snap) x WHERE x < cut.xid), '')
  END AS snapshot, cut.xid IS NOT NULL AS more, first.xid IS NOT NULL AS any
  FROM now LEFT JOIN first ON true LEFT JOIN cut ON true`;

const RUNS = `
SELECT event_id, min(version) AS first, max(version) AS last, count(*)::int AS entries,
       encode((array_agg(hash ORDER BY version DESC))[1], 'hex') AS hash,
       encode(sha256(convert_to(string_agg(version || ':' || position, ',' ORDER BY version), 'UTF8')), 'hex') AS positions
  FROM (SELECT event_id, version, position, hash, version - row_number() OVER (PARTITION BY event_id ORDER BY version) AS run
          FROM ${GAINED} e) r
 GROUP BY event_id, run ORDER BY event_id, first`;

const INSERT = `INSERT INTO checkpoint (sequence, minute_at, part, snapshot, body, prev_hash, hash, key_id, signature)
  VALUES ($1, $2::timestamptz, $3, $4, $5, $6, $7, $8, $9)`;

interface Making {
  now: number;
  key: SigningKey;
  /** What remembers the newest genuine one between calls; without it that is sought anew. */
  chain?: Chain;
  entriesEach?: number;
}
interface Span { since: string; snapshot: string; cluster: string; part: number; minuteAt: number }

const makeOne = async (asker: Asker, last: Head | null, span: Span, key: SigningKey): Promise<Head> => {
  const { rows } = await asker.query<{ event_id: string; first: number; last: number; entries: number; hash: string; positions: string }>({ name: 'tocsin_checkpoint_runs_v2', text: RUNS, values: [span.since, span.snapshot] });
  const body: CheckpointBody = {
    ledger: last?.ledger ?? randomBytes(16).toString('hex'), sequence: (last?.sequence ?? 0) + 1, minute_at: span.minuteAt, part: span.part, cluster: span.cluster,
    since: span.since, snapshot: span.snapshot, entries: rows.reduce((sum, row) => sum + row.entries, 0),
    runs: rows.map((row): Run => [row.event_id, row.first, row.last, row.hash, row.positions]),
  };
  const text = canonicalText(body);
  const prevHash = last?.hash ?? NO_CHECKPOINT_HASH;
  const hash = checkpointHash(prevHash, text);
  const made: Checkpoint = { sequence: body.sequence, body: text, prevHash, hash, keyId: key.publicKey.id, signature: signBytes(key, signedBytes(hash)) };
  await asker.query(INSERT, [made.sequence, toTimestamp(span.minuteAt), span.part, span.snapshot, text, prevHash, hash, made.keyId, made.signature]);
  return { sequence: made.sequence, signature: made.signature, minuteAt: span.minuteAt, snapshot: span.snapshot, hash, cluster: span.cluster, ledger: body.ledger };
};

/**
 * Makes the checkpoint of the minute of `now`, several where much has piled up, and none where it was made already or nothing
 * was appended since the last. Goes on from the newest genuine one, whatever else was put into the table. To be called under
 * the lock; returns how many it made.
 */
export const makeCheckpoints = async (asker: Asker, { now, key, chain = openChain([key.publicKey]), entriesEach = ENTRIES_EACH }: Making): Promise<number> => {
  const minuteAt = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  let last = await chain.newest(asker);
  // A minute far ahead was signed by a clock that has been put right since: waiting for it would leave everything uncovered.
  if (last && last.minuteAt >= minuteAt && last.minuteAt <= minuteAt + AHEAD_MS) return 0;
  const cluster = await clusterOf(asker);
  for (let part = 1; ; part += 1) {
    // In another cluster transaction ids begin anew: what had ended by its own counting is covered once more.
    const since = last && last.cluster === cluster ? last.snapshot : NO_SNAPSHOT;
    const { rows: [found] } = await asker.query<{ snapshot: string; more: boolean; any: boolean }>({ name: 'tocsin_checkpoint_snapshot_v2', text: SNAPSHOT, values: [since, entriesEach] });
    if (!found?.any) return part - 1;
    last = await makeOne(asker, last, { since, snapshot: found.snapshot, cluster, part, minuteAt }, key);
    chain.made(last);
    if (!found.more) return part;
  }
};
