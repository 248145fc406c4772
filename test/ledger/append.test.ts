import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { decideAndAppend, tryDecide } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { decide } from '../../shared/domain/decide.ts';
import { fold } from '../../shared/domain/evolve.ts';
import type { Stamped, Transition } from '../../shared/domain/transitions.ts';
import { moveOutbox } from '../../shared/ledger/claims.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import { appendGroup } from '../../shared/ledger/append-group.ts';
import { inputFor } from '../../shared/delivery/decide-and-append.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

/** Resolves once the error has been told; looked at again after every turn of the event loop. */
const untilTold = async (told: string[]): Promise<void> => {
  while (told.length === 0) await new Promise((resolve) => { setImmediate(resolve); });
};

const acceptOne = async (ending = '03'): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest(ending));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const provenance = { actor: 'test', requestId: 'r' };
const stampedOf = async (eventId: string): Promise<Stamped[]> => (await readEntries(engine.db, eventId)).map((entry) => {
  const body = JSON.parse(entry.body) as { at: number; kind: string; details: unknown };
  return { at: body.at, transition: { kind: body.kind, details: body.details } as Transition };
});
/** As the owner, through whom no grant protects the ledger. */
const asOwner = async (statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
};
const rows = (text: string, values: unknown[] = []) => engine.db.pool.query(text, values).then((result) => result.rows);

describe('accepting an intent', () => {
  test('writes notification, entries, sealed payload, recipient and outbox row in one transaction', async () => {
    const eventId = await acceptOne();
    const [counts] = await rows(`SELECT
      (SELECT count(*)::int FROM ledger_entry WHERE event_id = $1) AS entries, (SELECT count(*)::int FROM outbox WHERE event_id = $1) AS outbox,
      (SELECT count(*)::int FROM sealed_payload WHERE event_id = $1) AS payloads, (SELECT count(*)::int FROM recipient WHERE event_id = $1) AS recipients,
      (SELECT count(*)::int FROM attempt WHERE event_id = $1) AS attempts`, [eventId]);
    expect(counts).toEqual({ entries: 3, outbox: 1, payloads: 2, recipients: 1, attempts: 1 });
  });

  test('replays the same receipt for the same key and body, and refuses another body (invariant 1)', async () => {
    const request = urgentRequest();
    const first = await acceptNotification(engine, request);
    const again = await acceptNotification(engine, { ...request, requestId: 'another' });
    const other = await acceptNotification(engine, { ...request, fingerprintOf: { another: true } });
    expect(first.kind).toBe('accepted');
    expect(again).toEqual({ kind: 'replayed', eventId: (first as { eventId: string }).eventId });
    expect(other.kind).toBe('conflict');
  });

  test('makes one notification of twenty simultaneous posts under one key', async () => {
    const request = urgentRequest();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => acceptNotification(engine, request)));
    expect(outcomes.filter((outcome) => outcome.kind === 'accepted')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.kind === 'replayed')).toHaveLength(19);
    expect(await rows('SELECT 1 FROM notification WHERE idempotency_key = $1', [request.idempotencyKey])).toHaveLength(1);
  });

  test('holds no address, text or variable outside the sealed places (invariant 11)', async () => {
    await acceptNotification(engine, urgentRequest('03', { variables: () => ({ category: 'c', queue: 'q', region: 'US', locale: 'en', player_ref: 'p-secret-77', message: 'my card is 4111 1111 1111 1111', received_at: 'now', ticket_url: 'http://127.0.0.1:3001/tickets/x' }) }));
    const tables = await rows(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('template_version')`);
    for (const { table_name: name } of tables) {
      const text = JSON.stringify(await rows(`SELECT t::text FROM ${name} t`));
      for (const secret of ['+12025550103', 'oncall-03@example.com', '4111 1111', 'p-secret-77']) expect(`${name}: ${text.includes(secret)}`).toBe(`${name}: false`);
    }
  });
});

describe('appending', () => {
  test('of two appends decided on one version, one wins and the other reloads (invariant 2)', async () => {
    const eventId = await acceptOne();
    const loaded = await engine.load(eventId);
    if (!loaded) throw new Error('not loaded');
    const results = await Promise.all([1, 2].map(() => tryDecide(engine, loaded, { kind: 'start_submission', attempt: `${eventId}.sms.1` }, { provenance })));
    expect(results.filter((result) => result?.kind === 'appended')).toHaveLength(1);
    expect(results.filter((result) => result === null)).toHaveLength(1);
    expect((await readEntries(engine.db, eventId)).map((entry) => entry.version)).toEqual([1, 2, 3, 4]);
  });

  test('twenty racing closers leave one NotificationClosed', async () => {
    const eventId = await acceptOne();
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => closeNotification(engine, { tenant: null, eventId, reason: 'taken', actor: `a${index}`, requestId: `c${index}` })));
    expect(outcomes.filter((outcome) => outcome.kind === 'closed' && !outcome.replayed)).toHaveLength(1);
    expect((await readEntries(engine.db, eventId)).filter((entry) => entry.kind === 'NotificationClosed')).toHaveLength(1);
  });

  test('the state is the fold of the ledger, and every hash covers the one before (invariants 4 and 12)', async () => {
    const eventId = await acceptOne();
    const attempt = `${eventId}.sms.1`;
    await decideAndAppend(engine, eventId, { provenance, command: () => ({ kind: 'start_submission', attempt }) });
    await decideAndAppend(engine, eventId, { provenance, command: () => ({ kind: 'record_submission', attempt, submission: 1, result: { kind: 'accepted', providerMessageId: `SM${eventId}` } }) });
    const loaded = await engine.load(eventId);
    expect(fold(eventId, await stampedOf(eventId))).toEqual(loaded?.state);
    const [check] = await rows(`SELECT bool_and(e.hash = sha256(e.prev_hash || convert_to(e.body, 'UTF8'))) AS own,
      bool_and(e.prev_hash = coalesce(p.hash, n.intent_hash)) AS chain FROM ledger_entry e JOIN notification n USING (event_id)
      LEFT JOIN ledger_entry p ON p.event_id = e.event_id AND p.version = e.version - 1 WHERE e.event_id = $1`, [eventId]);
    expect(check).toEqual({ own: true, chain: true });
  });

  test('the entries of one event take their positions in the order of their versions, also where many share a statement (invariant 13)', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => acceptOne()));
    await Promise.all(ids.map((eventId) => closeNotification(engine, { tenant: null, eventId, reason: 'taken', actor: 'a', requestId: 'c' })));
    for (const eventId of ids) {
      const versions = (await rows('SELECT version FROM ledger_entry WHERE event_id = $1 ORDER BY position', [eventId])).map(({ version }) => version as number);
      expect(versions.length).toBeGreaterThan(3);
      expect(versions).toEqual(versions.map((_, index) => index + 1));
    }
  });

  test('one bad row never fails the others of its group', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => acceptOne()));
    const loadeds = await Promise.all(ids.map((id) => engine.load(id)));
    const duplicate = 'SM-the-same-message';
    const appends = await Promise.all(loadeds.map(async (loaded, index) => {
      if (!loaded) throw new Error('not loaded');
      const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
      const started = decide({ kind: 'start_submission', attempt: `${loaded.eventId}.sms.1` }, loaded.state, inputFor(engine, loaded, bound));
      const done = decide({ kind: 'record_submission', attempt: `${loaded.eventId}.sms.1`, submission: 1, result: { kind: 'accepted', providerMessageId: index < 2 ? duplicate : `SM-${loaded.eventId}` } }, started.state, inputFor(engine, loaded, bound));
      return toAppend({ ...done, transitions: [...started.transitions, ...done.transitions] }, { before: loaded.state, prevHash: loaded.headHash, provenance });
    }));
    const outcomes = await Promise.allSettled(appends.map((append) => engine.append(append)));
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value)).toHaveLength(5);
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(1);
  });

  test('statements over the same events in opposite order wait for each other instead of deadlocking', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => acceptOne()));
    const loadeds = await Promise.all(ids.map((id) => engine.load(id)));
    const appends = await Promise.all(loadeds.map(async (loaded) => {
      if (!loaded) throw new Error('not loaded');
      const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
      return toAppend(decide({ kind: 'close', reason: 'taken' }, loaded.state, inputFor(engine, loaded, bound)), { before: loaded.state, prevHash: loaded.headHash, provenance });
    }));
    const winners = await Promise.all([0, 1, 2, 3].map((turn) => appendGroup(engine.db, turn % 2 === 0 ? appends : [...appends].reverse())));
    expect(winners.map((won) => won.size).sort((a, b) => a - b)).toEqual([0, 0, 0, 30]);
  });
});

describe('a connection that ends while a transaction is open on it', () => {
  test('is an error of that transaction and not of the process, and the rows are given back', async () => {
    const eventId = await acceptOne();
    const told: string[] = [];
    const own = openDatabase({ url: database.url, poolSize: 1, onPoolError: (error) => told.push(error.message) });
    const moving = moveOutbox(own, 500, async () => {
      await asOwner("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'");
      await untilTold(told);
    });
    await expect(moving).rejects.toThrow();
    expect(await rows('SELECT 1 FROM outbox WHERE event_id = $1', [eventId])).toHaveLength(1);
    await own.close();
  });
});

describe('the database itself', () => {
  test.each(['UPDATE ledger_entry SET actor = actor', 'DELETE FROM ledger_entry', 'TRUNCATE ledger_entry', 'TRUNCATE ledger_entry_default', 'UPDATE notification SET purpose = purpose', 'DELETE FROM notification', 'TRUNCATE notification CASCADE', 'UPDATE lost_race SET found = found', 'DELETE FROM lost_race', 'TRUNCATE lost_race'])(
    'refuses %s as the application', async (statement) => {
      await acceptOne();
      await expect(rows(statement)).rejects.toThrow(/permission denied|append-only/);
    });

  test.each(['UPDATE ledger_entry SET actor = actor', 'DELETE FROM ledger_entry', 'TRUNCATE ledger_entry', 'UPDATE notification SET purpose = purpose', 'DELETE FROM notification'])(
    'refuses %s as the owner too', async (statement) => {
      await acceptOne();
      await expect(asOwner(statement)).rejects.toThrow(/append-only/);
    });

  test('refuses TRUNCATE of every partition as the owner', async () => {
    const partitions = await rows(`SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'ledger_entry'::regclass`);
    expect(partitions.length).toBeGreaterThanOrEqual(4);
    for (const { name } of partitions) await expect(asOwner(`TRUNCATE ${name}`)).rejects.toThrow(/append-only/);
  });

  test('refuses an entry that skips a version or does not chain to the one before', async () => {
    const eventId = await acceptOne();
    const insert = (version: number, prev: string) => rows(
      `INSERT INTO ledger_entry (event_id, version, kind, at, actor, request_id, policy_version, to_state, body, prev_hash, hash)
       VALUES ($1, $2, 'X', now(), 'a', 'r', 1, 's', '{}', $3::bytea, sha256($3::bytea || convert_to('{}', 'UTF8')))`, [eventId, version, prev]);
    const [head] = await rows('SELECT hash FROM ledger_entry WHERE event_id = $1 ORDER BY version DESC LIMIT 1', [eventId]);
    await expect(insert(9, head.hash)).rejects.toThrow(/chain is broken/);
    await expect(insert(4, '\\x00')).rejects.toThrow(/chain is broken/);
  });

  test('puts new entries into the partition of their month, not into the default one', async () => {
    const eventId = await acceptOne();
    const [where] = await rows('SELECT tableoid::regclass::text AS partition FROM ledger_entry WHERE event_id = $1 LIMIT 1', [eventId]);
    expect(where.partition).toBe(`ledger_entry_${new Date().toISOString().slice(0, 7).replace('-', '_')}`);
  });
});
