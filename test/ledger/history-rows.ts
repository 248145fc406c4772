import pg from 'pg';
import type { Engine } from '../../shared/delivery/engine.ts';
import { openChain } from '../../shared/ledger/checkpoint-genuine.ts';
import { CHECKPOINT_PURPOSE, checkpointHash, signedBytes } from '../../shared/ledger/checkpoint.ts';
import { canonicalText } from '../../shared/security/canonical.ts';
import { publicKeysOf, signBytes, signingKeyOf } from '../../shared/security/signing-key.ts';

const MINUTE_MS = 60_000;

/** Genuine checkpoints that cover nothing new, one after the other from the newest on. */
const addCheckpoints = async (owner: pg.Client, engine: Engine, count: number): Promise<void> => {
  const key = signingKeyOf(engine.ring, CHECKPOINT_PURPOSE);
  let last = await openChain(publicKeysOf(engine.ring, CHECKPOINT_PURPOSE)).newest(owner);
  if (!last) return;
  const rows = [];
  for (let made = 0; made < count; made += 1) {
    const { ledger, cluster, snapshot } = last;
    const [sequence, minuteAt]: [number, number] = [last.sequence + 1, last.minuteAt + MINUTE_MS / 1_000];
    const body = canonicalText({ ledger, sequence, minute_at: minuteAt, part: 1, cluster, since: snapshot, snapshot, entries: 0, runs: [] });
    const hash: Buffer = checkpointHash(last.hash, body);
    const signature: Buffer = signBytes(key, signedBytes(hash));
    rows.push({ sequence, minute_at: new Date(minuteAt).toISOString(), part: 1, snapshot, body, prev_hash: `\\x${last.hash.toString('hex')}`, hash: `\\x${hash.toString('hex')}`, key_id: key.publicKey.id, signature: `\\x${signature.toString('hex')}` });
    last = { ...last, sequence, minuteAt, hash, signature };
  }
  await owner.query('INSERT INTO checkpoint SELECT * FROM jsonb_populate_recordset(NULL::checkpoint, $1::jsonb)', [JSON.stringify(rows)]);
};

/** What else a history leaves, beside notifications: handled dead letters, suppressions and withdrawn consents that hold and that were taken back, throttled starts, lost races, checkpoints. */
export const addHistoryRows = async (databaseUrl: string, engine: Engine, count: number): Promise<void> => {
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  try {
    await owner.query(`INSERT INTO dead_letter (attempt_key, event_id, channel, reason, created_at, resolved_at, resolution)
      SELECT event_id || '.sms.1', event_id, 'sms', 'retries_exhausted', requested_at, requested_at, 'retried' FROM notification ORDER BY event_id LIMIT $1`, [count]);
    await owner.query(`INSERT INTO dead_letter_request (dead_letter_id, action, actor, reason, requested_at, handled_at, result)
      SELECT id, 'retry', 'operator', 'incident', created_at, created_at, 'retried' FROM dead_letter l WHERE resolved_at IS NOT NULL AND NOT EXISTS (SELECT FROM dead_letter_request r WHERE r.dead_letter_id = l.id)`);
    await owner.query(`INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor, removed_at, removed_by, removed_reason)
      SELECT 'default', 'sms', decode(md5(random()::text), 'hex'), '', 'requested', 'hand', 'epoch', 'test', CASE WHEN n % 2 = 0 THEN 'epoch'::timestamptz END, CASE WHEN n % 2 = 0 THEN 'test' END, CASE WHEN n % 2 = 0 THEN 'mistake' END
        FROM generate_series(1, $1::integer) AS n`, [count]);
    await owner.query(`INSERT INTO consent_withdrawal (tenant, channel, address_print, basis, reason, at, actor, restored_at, restored_by, restored_reason)
      SELECT 'default', 'sms', decode(md5(random()::text), 'hex'), '', 'requested', 'epoch', 'test', CASE WHEN n % 2 = 0 THEN 'epoch'::timestamptz END, CASE WHEN n % 2 = 0 THEN 'test' END, CASE WHEN n % 2 = 0 THEN 'mistake' END
        FROM generate_series(1, $1::integer) AS n`, [count]);
    await owner.query(`INSERT INTO throttled_start (attempt_key, tenant, channel, purpose, address_print, at)
      SELECT md5(random()::text), 'default', 'sms', 'account-report', decode(md5(random()::text), 'hex'), 'epoch' FROM generate_series(1, $1::integer) AS n`, [count]);
    await owner.query(`INSERT INTO lost_race (event_id, at, actor, request_id, decided_on, found) SELECT event_id, requested_at, 'coordinator', 'r', 1, 2 FROM notification ORDER BY event_id LIMIT $1`, [count]);
    await addCheckpoints(owner, engine, count);
    await owner.query('VACUUM ANALYZE');
  } finally {
    await owner.end();
  }
};

/** Rows of each table and partition, as the planner has counted them. */
export const rowCounts = async (databaseUrl: string): Promise<Map<string, number>> => {
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  const { rows } = await owner.query<{ relname: string; reltuples: number }>(`SELECT relname, reltuples FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`);
  await owner.end();
  return new Map(rows.map((row) => [row.relname, row.reltuples]));
};
