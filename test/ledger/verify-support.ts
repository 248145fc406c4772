import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startCheckpoints } from '../../services/coordinator/checkpoints.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { CHECKPOINT_PURPOSE } from '../../shared/ledger/checkpoint.ts';
import { verifyCheckpoints } from '../../shared/ledger/verify-checkpoints.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import type { Fault } from '../../shared/ledger/verify-fault.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { publicKeysOf } from '../../shared/security/signing-key.ts';
import type { KeyRing } from '../../shared/security/key-ring.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { urgentRequest } from '../support/test-engine.ts';

/** A database like another one, to be spoilt. Nobody may be connected to the other. */
export const cloneDatabase = async (of: TestDatabase): Promise<TestDatabase> => {
  const admin = new URL(of.url);
  const source = admin.pathname.slice(1);
  admin.pathname = '/postgres';
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  const ask = (text: string) => withClient(admin.href, (client) => client.query(text));
  await ask(`CREATE DATABASE ${name} TEMPLATE ${source}`);
  const url = new URL(of.url);
  url.pathname = `/${name}`;
  return { url: url.href, drop: async () => { await ask(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`); } };
};

export const withClient = async <Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const DISARM = `SET session_replication_role = replica;
DO $$ DECLARE c record; BEGIN
  FOR c IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
    WHERE contype = 'c' AND conparentid = 0 AND conrelid IN ('ledger_entry'::regclass, 'notification'::regclass, 'checkpoint'::regclass) LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.name, c.conname);
  END LOOP;
END $$`;

/** Works on the database as its superuser, with every trigger and check out of the way. */
export const tamper = (url: string, work: (client: pg.Client) => Promise<unknown>): Promise<unknown> => withClient(url, async (client) => {
  await client.query(DISARM);
  return work(client);
});

/** Recomputes the whole chain of an event, and what names its head: a forger who knows how hashes are made. */
export const rechain = async (client: pg.Client, eventId: string): Promise<void> => {
  await client.query(`UPDATE notification SET intent_hash = sha256(convert_to(intent, 'UTF8')) WHERE event_id = $1`, [eventId]);
  const { rows } = await client.query('SELECT version FROM ledger_entry WHERE event_id = $1 ORDER BY version', [eventId]);
  for (const { version } of rows) {
    await client.query(`UPDATE ledger_entry e SET prev_hash = b.hash, hash = sha256(b.hash || convert_to(e.body, 'UTF8'))
      FROM (SELECT intent_hash AS hash FROM notification WHERE event_id = $1 AND $2 = 1 UNION ALL SELECT hash FROM ledger_entry WHERE event_id = $1 AND version = $2 - 1) b
      WHERE e.event_id = $1 AND e.version = $2`, [eventId, version]);
  }
  await client.query(`UPDATE notification_state s SET head_hash = (SELECT hash FROM ledger_entry e WHERE e.event_id = s.event_id ORDER BY version DESC LIMIT 1) WHERE event_id = $1`, [eventId]);
};

const provenance = { actor: 'test', requestId: 'r' };

/** Accepts a notification and lets it come as far as its number says: delivered, closed, or just submitted. */
export const live = async (engine: Engine, turn: number): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest('03'));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  const { eventId } = outcome;
  const attempt = `${eventId}.sms.1`;
  const act = (command: Parameters<typeof decideAndAppend>[2]['command']) => decideAndAppend(engine, eventId, { provenance, command });
  await act(() => ({ kind: 'start_submission', attempt }));
  if (turn % 3 === 0) return eventId;
  await act(() => ({ kind: 'record_submission', attempt, submission: 1, result: { kind: 'accepted', providerMessageId: `SM${eventId}` } }));
  if (turn % 3 === 1) await act(() => ({ kind: 'record_status', attempt, reading: { kind: 'observed', outcome: 'delivered', reason: null } }));
  else await closeNotification(engine, { tenant: null, eventId, reason: 'taken', actor: 'oncall', requestId: 'r' });
  return eventId;
};

export const lives = async (engine: Engine, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let from = 0; from < count; from += 50) ids.push(...await Promise.all(Array.from({ length: Math.min(50, count - from) }, (_, turn) => live(engine, turn))));
  return ids;
};

/** One coordinator's tick, at an instant. */
export const checkpointAt = async (engine: Pick<Engine, 'db' | 'ring' | 'log'>, file: string, now: number): Promise<number> => {
  const checkpoints = startCheckpoints({ engine: { ...engine, now: () => now }, file });
  try {
    return await checkpoints.tick();
  } finally {
    await checkpoints.close();
  }
};

/** Verifies everything; the faults as places. */
export const verifyAll = async (db: Database, { ring, file = null }: { ring: KeyRing; file?: string | null }) => {
  const faults = collectFaults();
  const counts = await verifyNotifications(db, { faults, ring });
  const checkpoints = await verifyCheckpoints(db, { faults, keys: publicKeysOf(ring, CHECKPOINT_PURPOSE), file });
  const place = (fault: Fault): string => [fault.eventId, fault.version === null ? null : `v${fault.version}`, fault.eventId === null && fault.checkpoint !== null ? `checkpoint ${fault.checkpoint}` : null, fault.column].filter((part) => part !== null).join(' ');
  return { counts, checkpoints, faults: faults.list, places: faults.list.map(place) };
};
