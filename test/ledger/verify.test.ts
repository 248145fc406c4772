import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { open, seal } from '../../shared/security/sealing.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { checkpointAt, cloneDatabase, lives, rechain, tamper, verifyAll } from './verify-support.ts';

const KEYS = generateKeyRingText();
const ring = parseKeyRing(KEYS);
const START = Date.UTC(2026, 0, 1, 12, 0, 30);

let base: TestDatabase;
let folder: string;
let ids: string[];
let younger: string;
let rejected: string;
beforeAll(async () => {
  base = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tocsin-verify-'));
  const engine = await createTestEngine({ url: base.url, ring: KEYS });
  const file = join(folder, 'original.jsonl');
  ids = await lives(engine, 40);
  await checkpointAt(engine, file, START);
  ids.push(...await lives(engine, 5));
  await checkpointAt(engine, file, START + 60_000);
  younger = (await lives(engine, 1))[0] as string;
  const request = urgentRequest('03');
  const outcome = await acceptNotification(engine, { ...request, recipient: { ...request.recipient, region: 'BR' } });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  rejected = outcome.eventId;
  await engine.close();
});
afterAll(async () => {
  await base.drop();
  await rm(folder, { recursive: true });
});

/** Spoils a copy of the ledger as the superuser, and says where verification found something. */
let file: string;
let copies = 0;
beforeEach(async () => {
  copies += 1;
  file = join(folder, `copy-${copies}.jsonl`);
  await writeFile(file, await readFile(join(folder, 'original.jsonl')));
});
const placesAfter = async (spoil: (client: pg.Client) => Promise<unknown>, withFile = true): Promise<string[]> => {
  const copy = await cloneDatabase(base);
  let db: Database | null = null;
  try {
    await tamper(copy.url, spoil);
    db = openDatabase({ url: copy.url, poolSize: 2 });
    return (await verifyAll(db, { ring, file: withFile ? file : null })).places;
  } finally {
    await db?.close();
    await copy.drop();
  }
};
/** A delivered one, older than both checkpoints: Accepted, Planned, Queued, Started, SubmissionAccepted, Observed, Delivered, Settled. */
const old = (): string => ids[1] as string;
/** The delivered ones, one for each change. */
const delivered = (turn: number): string => ids[1 + 3 * turn] as string;
type Changes = [column: string, value: string][];
const changeEach = async (client: pg.Client, changes: Changes, statement: (column: string, value: string) => string): Promise<void> => {
  for (const [turn, [column, value]] of changes.entries()) await client.query(statement(column, value), [delivered(turn)]);
};
const lastOf = async (client: pg.Client, eventId: string): Promise<number> => (await client.query('SELECT max(version) AS last FROM ledger_entry WHERE event_id = $1', [eventId])).rows[0].last;

describe('a ledger that nobody touched', () => {
  test('verifies clean, in the database and against the file outside of it', async () => {
    const db = openDatabase({ url: base.url, poolSize: 2 });
    const verified = await verifyAll(db, { ring, file });
    await db.close();
    expect(verified.faults).toEqual([]);
    expect(verified.counts.notifications).toBe(47);
    expect(verified.checkpoints).toMatchObject({ checkpoints: 2, inFile: 2, youngerEntries: expect.any(Number) });
  });
});

describe('a superuser of the database', () => {
  test('who changes one byte of an entry is found, at that version', async () => {
    expect(await placesAfter((client) => client.query(`UPDATE ledger_entry SET body = replace(body, '"actor":"test"', '"actor":"tesT"') WHERE event_id = $1 AND version = 4`, [old()])))
      .toEqual([`${old()} v4 body`, `${old()} v4 actor`]);
  });

  test('who changes any column of an entry is found, at that column', async () => {
    const changes: Changes = [
      ['kind', `'NotificationClosed'`], ['at', `at + interval '1 ms'`], ['actor', `'somebody'`], ['request_id', `'other'`], ['policy_version', 'policy_version + 1'],
      ['attempt_key', 'NULL'], ['from_state', `'delivered'`], ['to_state', `'planned'`],
    ];
    const places = await placesAfter((client) => changeEach(client, changes, (column, value) => `UPDATE ledger_entry SET ${column} = ${value} WHERE version = 4 AND event_id = $1`));
    expect(places.sort()).toEqual(changes.map(([column], turn) => `${delivered(turn)} v4 ${column}`).sort());
  });

  test('who changes one byte of an intent is found, at that intent', async () => {
    expect(await placesAfter((client) => client.query(`UPDATE notification SET intent = replace(intent, '"region":"US"', '"region":"UK"') WHERE event_id = $1`, [old()])))
      .toEqual([`${old()} intent`, `${old()} region`]);
  });

  test('who changes any column of an intent is found, at that column', async () => {
    const changes: Changes = [
      ['region', `'UK'`], ['tenant', `'other'`], ['idempotency_key', `'other'`], ['urgency', `'routine'`], ['expires_at', `expires_at + interval '1 s'`], ['retention_until', `retention_until + interval '1 day'`],
      ['request_fingerprint', `'\\x00'::bytea`], ['recipient_commitment', `'0'`], ['consent_references', `'[]'::jsonb`], ['template_versions', `'[]'::jsonb`],
    ];
    const places = await placesAfter((client) => changeEach(client, changes, (column, value) => `UPDATE notification SET ${column} = ${value} WHERE event_id = $1`));
    const committed = changes.findIndex(([column]) => column === 'recipient_commitment');
    expect(places.sort()).toEqual([...changes.map(([column], turn) => `${delivered(turn)} ${column}`), `${delivered(committed)} recipient.box`].sort());
  });

  test('who changes what is sealed beside the entries is found, also with a key of the deployment, at the row', async () => {
    const boxes = [
      // Another number under a genuine key: the box opens, and the intent is committed to somebody else.
      async (client: pg.Client, eventId: string) => {
        const row = (await client.query('SELECT key_id, box FROM recipient WHERE event_id = $1', [eventId])).rows[0] as { key_id: string; box: Buffer };
        const recipient = JSON.parse(open(ring, { keyId: row.key_id, box: row.box }, `${eventId}/recipient`).toString()) as object;
        const sealed = seal(ring, JSON.stringify({ ...recipient, sms: '+12025550199' }), `${eventId}/recipient`);
        await client.query('UPDATE recipient SET box = $2, key_id = $3 WHERE event_id = $1', [eventId, sealed.box, sealed.keyId]);
      },
      (client: pg.Client, eventId: string) => client.query('UPDATE recipient SET (key_id, box) = (SELECT key_id, box FROM recipient WHERE event_id = $2) WHERE event_id = $1', [eventId, ids[0]]),
      (client: pg.Client, eventId: string) => client.query(`UPDATE recipient SET sms_print = sha256('other') WHERE event_id = $1`, [eventId]),
      (client: pg.Client, eventId: string) => client.query('UPDATE recipient SET email_print = NULL WHERE event_id = $1', [eventId]),
      (client: pg.Client, eventId: string) => client.query('UPDATE recipient SET key_id = NULL, box = NULL, erased_at = now() WHERE event_id = $1', [eventId]),
      (client: pg.Client, eventId: string) => client.query(`UPDATE sealed_payload SET key_id = NULL, box = NULL, destroyed_at = now() WHERE part = 'variables' AND event_id = $1`, [eventId]),
    ];
    const places = await placesAfter(async (client) => { for (const [turn, change] of boxes.entries()) await change(client, delivered(turn)); });
    expect(places.sort()).toEqual([
      ...['recipient.box', 'recipient.sms_print', 'recipient.box', 'recipient.sms_print', 'recipient.email_print', 'recipient.box', 'sealed_payload.box'].map((column, at) => `${delivered([0, 0, 1, 2, 3, 4, 5][at] as number)} ${column}`),
    ].sort());
  });

  test('who brings back what an entry says was destroyed is found, as by a table that was restored on its own', async () => {
    const places = await placesAfter((client) => client.query('UPDATE recipient SET (key_id, box, erased_at) = (SELECT key_id, box, NULL::timestamptz FROM recipient WHERE event_id = $2) WHERE event_id = $1', [rejected, old()]));
    // The box of another notification does not open there either.
    expect(places).toEqual([`${rejected} recipient.box`, `${rejected} recipient.box`]);
  });

  test('who deletes the last entry is found', async () => {
    const places = await placesAfter((client) => client.query('DELETE FROM ledger_entry e WHERE event_id = $1 AND version = (SELECT max(version) FROM ledger_entry WHERE event_id = e.event_id)', [old()]));
    expect(places).toContainEqual(expect.stringMatching(`^${old()} v\\d+ notification_state\\.version$`));
  });

  test('who deletes the last entry and puts the state back as well is found by the checkpoint', async () => {
    let last = 0;
    const places = await placesAfter(async (client) => {
      const other = ids[0] as string;
      last = await lastOf(client, other);
      await client.query('DELETE FROM ledger_entry WHERE event_id = $1 AND version = $2', [other, last]);
      await client.query(`UPDATE notification_state SET version = version - 1 WHERE event_id = $1`, [other]);
      await rechain(client, other);
    });
    expect(places).toContain(`${ids[0]} v${last} version`);
  });

  test('who swaps two entries is found, at both', async () => {
    const places = await placesAfter(async (client) => {
      await client.query('UPDATE ledger_entry SET version = version + 1000 WHERE event_id = $1 AND version IN (3, 4)', [old()]);
      await client.query('UPDATE ledger_entry SET version = 1007 - version WHERE event_id = $1 AND version > 1000', [old()]);
    });
    expect(places).toEqual(expect.arrayContaining([`${old()} v3 version`, `${old()} v4 version`, `${old()} v3 prev_hash`]));
  });

  test('who takes an entry out of the middle is found, at the gap', async () => {
    expect(await placesAfter((client) => client.query('DELETE FROM ledger_entry WHERE event_id = $1 AND version = 3', [old()]))).toContain(`${old()} v3 version`);
  });

  test('who recomputes a whole chain, intent and state with it, is found by the checkpoint, with the event', async () => {
    const forge = async (client: pg.Client): Promise<void> => {
      await client.query(`UPDATE ledger_entry SET actor = 'somebody', body = replace(body, '"actor":"test"', '"actor":"somebody"') WHERE event_id = $1`, [old()]);
      await rechain(client, old());
    };
    const last = await (async () => { let at = 0; await placesAfter(async (client) => { at = await lastOf(client, old()); }); return at; })();
    expect(await placesAfter(forge)).toEqual([`${old()} v${last} hash`]);
    expect(await placesAfter(forge, false)).toEqual([`${old()} v${last} hash`]);
  });

  test('who recomputes the intent with its chain is found by the checkpoint, with the event', async () => {
    expect(await placesAfter(async (client) => {
      await client.query(`UPDATE notification SET request_id = 'x', intent = regexp_replace(intent, '"request_id":"[^"]*"', '"request_id":"x"') WHERE event_id = $1`, [old()]);
      await rechain(client, old());
    })).toEqual([expect.stringMatching(`^${old()} v\\d+ hash$`)]);
  });

  test('who removes a notification without a trace is found by the checkpoint', async () => {
    expect(await placesAfter(async (client) => {
      for (const table of ['ledger_entry', 'attempt', 'notification_state', 'recipient', 'sealed_payload', 'outbox', 'notification']) await client.query(`DELETE FROM ${table} WHERE event_id = $1`, [old()]);
    })).toEqual([`${old()} v1 version`]);
  });

  test('who leaves entries without their notification is found', async () => {
    expect(await placesAfter((client) => client.query('DELETE FROM notification WHERE event_id = $1', [old()]))).toContain(`${old()} event_id`);
  });

  test('who slips an entry among older ones is found, at that entry', async () => {
    let last = 0;
    const places = await placesAfter(async (client) => {
      last = await lastOf(client, old());
      await client.query(`INSERT INTO ledger_entry (event_id, version, position, xid, kind, at, actor, request_id, policy_version, to_state, body, prev_hash, hash)
        SELECT event_id, version + 1, position, xid, kind, at, actor, request_id, policy_version, to_state, body, hash, sha256(hash || convert_to(body, 'UTF8')) FROM ledger_entry WHERE event_id = $1 AND version = $2`, [old(), last]);
    });
    expect(places).toContain(`${old()} v${last + 1} xid`);
  });

  test('who exchanges feed positions is found, with the event', async () => {
    expect(await placesAfter((client) => client.query('UPDATE ledger_entry SET position = position + 1000000 WHERE event_id = $1 AND version = 2', [old()]))).toEqual([`${old()} v1 position`]);
  });

  test('who moves an entry to another transaction is found, at that entry', async () => {
    expect(await placesAfter((client) => client.query(`UPDATE ledger_entry SET xid = '99999999'::xid8 WHERE event_id = $1 AND version = 2`, [old()]))).toEqual([`${old()} v2 xid`]);
  });

  test('who changes a column of an attempt, or of the state beside it, is found, at that column', async () => {
    const attempts: Changes = [['state', `'rejected'`], ['reason', `'content_refused'`], ['planned_at', `planned_at - interval '1 s'`], ['template', `'other'`], ['provider_message_id', `'SM-x'`]];
    const ofAttempts = await placesAfter((client) => changeEach(client, attempts, (column, value) => `UPDATE attempt SET ${column} = ${value} WHERE event_id = $1`));
    expect(ofAttempts.sort()).toEqual(attempts.map(([column], turn) => `${delivered(turn)} attempt.${column}`).sort());
    const states: Changes = [['status', `'undelivered'`], ['head_hash', `'\\x00'::bytea`], ['state', `jsonb_set(state::jsonb, '{attempts,0,state}', '"rejected"')`], ['decide_at', 'now()']];
    const ofStates = await placesAfter((client) => changeEach(client, states, (column, value) => `UPDATE notification_state SET ${column} = ${value} WHERE event_id = $1`));
    expect(ofStates.map((place) => place.replace(/ v\d+/, '')).sort()).toEqual(states.map(([column], turn) => `${delivered(turn)} notification_state.${column}`).sort());
  });

  test('cannot hide a recomputed chain by deleting or forging the checkpoints of the database: the file outside tells', async () => {
    const forge = async (client: pg.Client): Promise<void> => {
      await client.query(`UPDATE ledger_entry SET actor = 'somebody', body = replace(body, '"actor":"test"', '"actor":"somebody"') WHERE event_id = $1`, [old()]);
      await rechain(client, old());
    };
    const deleted = await placesAfter(async (client) => {
      await forge(client);
      await client.query('DELETE FROM checkpoint');
    });
    expect(deleted).toEqual(['checkpoint 1 checkpoint.sequence', expect.stringMatching(`^${old()} v\\d+ hash$`), 'checkpoint 2 checkpoint.sequence']);
    const forged = await placesAfter(async (client) => {
      await forge(client);
      const { rows: [head] } = await client.query(`SELECT encode(hash, 'hex') AS hash FROM ledger_entry WHERE event_id = $1 ORDER BY version DESC LIMIT 1`, [old()]);
      await client.query(`UPDATE checkpoint SET body = regexp_replace(body, '(\\["${old()}",\\d+,\\d+,")[0-9a-f]{64}', '\\1${head.hash}')`);
      await client.query(`UPDATE checkpoint SET hash = sha256(prev_hash || convert_to(body, 'UTF8'))`);
    });
    expect(forged).toEqual(expect.arrayContaining(['checkpoint 1 checkpoint.body', 'checkpoint 1 checkpoint.signature', expect.stringMatching(`^${old()} v\\d+ hash$`)]));
  });

  test('who recomputes what is younger than the last checkpoint is not found: that is the limit', async () => {
    expect(await placesAfter(async (client) => {
      await client.query(`UPDATE ledger_entry SET actor = 'somebody', body = replace(body, '"actor":"test"', '"actor":"somebody"') WHERE event_id = $1`, [younger]);
      await rechain(client, younger);
    })).toEqual([]);
  });
});

describe('the file outside', () => {
  const untouched = async (): Promise<void> => undefined;

  test('that was changed, cut in the middle or mixed with another is found, with its line', async () => {
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    await writeFile(file, `${(lines[0] as string).replace(/\\"entries\\":(\d+)/, '\\"entries\\":1$1')}\n${lines[1]}\n`);
    expect(await placesAfter(untouched)).toEqual(expect.arrayContaining(['checkpoint 1 checkpoint.body', 'checkpoint 1 checkpoint file.body']));
    await writeFile(file, `${lines[1]}\n`);
    expect(await placesAfter(untouched)).toEqual(expect.arrayContaining(['checkpoint 1 checkpoint file']));
    await writeFile(file, `${lines.join('\n')}\n{"nonsense":1}\n`);
    expect(await placesAfter(untouched)).toEqual(['checkpoint file']);
    // A line that is being written, or never was finished.
    await writeFile(file, `${lines.join('\n')}\n{"sequence":3,"led`);
    expect(await placesAfter(untouched)).toEqual([]);
    await writeFile(file, `${lines.join('\n')}\n`);
    await appendFile(file, `${(lines[0] as string).replace(/"ledger":"[0-9a-f]+","body"/, '"ledger":"ffff","body"')}\n`);
    expect(await placesAfter(untouched)).toEqual(['checkpoint 1 checkpoint file']);
  });
});
