import type pg from 'pg';

/** A life that is copied, and in how many of a hundred notifications. */
export interface Model { eventId: string; share: number }

/** Columns that the database fills by itself. */
const FILLED: ReadonlySet<string> = new Set(['ledger_entry.position', 'ledger_entry.xid', 'ledger_entry.epoch']);

// What stands in a text of the model in place of the copy's own ids. `c` is the row of the copy, `l` that of its model.
const RENAMED = (text: string): string => `replace(replace(${text}, l.event_id, c.event_id), l.sms_id, c.sms_id)`;

/** What differs from copy to copy beside the ids. */
const OWN: Record<string, string> = {
  'notification.idempotency_key': "'ticket:' || translate(encode(sha256(convert_to(c.event_id, 'UTF8')), 'base64'), '+/=', '-_')",
  'notification.intent_hash': `sha256(convert_to(${RENAMED('t.intent')}, 'UTF8'))`,
  'notification_state.head_hash': '(SELECT h.hash FROM head h WHERE h.event_id = c.event_id)',
  'recipient.reference_print': "sha256(convert_to('person ' || c.n / 20, 'UTF8'))",
  'ticket.receipt_token_hash': "sha256(convert_to('receipt ' || c.event_id, 'UTF8'))",
};

const columnsOf = async (client: pg.Client, table: string): Promise<{ name: string; type: string }[]> => (await client.query<{ name: string; type: string }>(
  `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, [table]))
  .rows.filter(({ name }) => !FILLED.has(`${table}.${name}`));

const expressionOf = (table: string, { name, type }: { name: string; type: string }): string => {
  const own = OWN[`${table}.${name}`];
  if (own !== undefined) return own;
  if (type === 'text') return RENAMED(`t.${name}`);
  return type === 'json' || type === 'jsonb' ? `(${RENAMED(`t.${name}::text`)})::${type}` : `t.${name}`;
};

/** Copies the rows that a table has of the models, once for each row of `copy`. */
const copyRows = async (client: pg.Client, table: string): Promise<string> => {
  const columns = await columnsOf(client, table);
  return `INSERT INTO ${table} (${columns.map(({ name }) => name).join(', ')})
    SELECT ${columns.map((column) => expressionOf(table, column)).join(', ')} FROM copy c JOIN life l USING (model) JOIN life_${table} t ON t.event_id = l.event_id ORDER BY c.n`;
};

// The chain of every copy, hash by hash: version 1 chains to the hash of the intent. What the chain ends with is the head of its state.
const COPY_ENTRIES = (columns: readonly { name: string; type: string }[]): string => {
  const own: Record<string, string> = { body: 'c.body', prev_hash: 'c.prev_hash', hash: 'c.hash' };
  const linked = `CROSS JOIN LATERAL (SELECT b.body, sha256(b.prev_hash || convert_to(b.body, 'UTF8')) AS hash FROM (SELECT ${RENAMED('t.body')} AS body, c.hash AS prev_hash OFFSET 0) b) x`;
  return `
  WITH RECURSIVE chain AS (
    SELECT c.event_id, c.sms_id, c.model, 1 AS version, x.body, c.hash AS prev_hash, x.hash
      FROM (SELECT copy.*, n.intent_hash AS hash FROM copy JOIN notification n USING (event_id)) c
      JOIN life l USING (model) JOIN life_ledger_entry t ON t.event_id = l.event_id AND t.version = 1 ${linked}
     UNION ALL
    SELECT c.event_id, c.sms_id, c.model, c.version + 1, x.body, c.hash, x.hash
      FROM chain c JOIN life l USING (model) JOIN life_ledger_entry t ON t.event_id = l.event_id AND t.version = c.version + 1 ${linked}),
  entries AS (
    INSERT INTO ledger_entry (${columns.map(({ name }) => name).join(', ')})
    SELECT ${columns.map((column) => own[column.name] ?? expressionOf('ledger_entry', column)).join(', ')}
      FROM chain c JOIN life l USING (model) JOIN life_ledger_entry t ON t.event_id = l.event_id AND t.version = c.version)
  INSERT INTO head SELECT c.event_id, c.hash FROM chain c JOIN life l USING (model) JOIN life_notification_state s ON s.event_id = l.event_id AND s.version = c.version`;
};

const TABLES = ['notification', 'notification_state', 'attempt', 'recipient', 'sealed_payload', 'ticket', 'observation_raw'] as const;

/** Makes temporary tables of all that the models left, and the statements that copy it. Call once for a connection. */
export const prepareCopies = async (client: pg.Client, models: readonly Model[], smsIdOf: (attemptKey: string) => string): Promise<string[]> => {
  await client.query('CREATE TEMP TABLE life (model integer PRIMARY KEY, event_id text COLLATE "C" NOT NULL, sms_id text NOT NULL)');
  await client.query('CREATE TEMP TABLE copy (n bigint NOT NULL, event_id text COLLATE "C" NOT NULL, sms_id text NOT NULL, model integer NOT NULL)');
  await client.query('CREATE TEMP TABLE head (event_id text COLLATE "C" PRIMARY KEY, hash bytea NOT NULL)');
  for (const [model, { eventId }] of models.entries()) await client.query('INSERT INTO life VALUES ($1, $2, $3)', [model, eventId, smsIdOf(`${eventId}.sms.1`)]);
  for (const table of [...TABLES, 'ledger_entry']) {
    await client.query(`CREATE TEMP TABLE life_${table} AS SELECT t.* FROM ${table} t JOIN life USING (event_id)`);
    // As text, once and not for every copy.
    for (const { name, type } of await columnsOf(client, table)) if (type === 'json' || type === 'jsonb') await client.query(`ALTER TABLE life_${table} ALTER ${name} TYPE text`);
    await client.query(`ANALYZE life_${table}`);
  }
  const statements: string[] = [];
  for (const table of TABLES) statements.push(await copyRows(client, table));
  statements.splice(1, 0, COPY_ENTRIES(await columnsOf(client, 'ledger_entry')));
  return statements;
};

/**
 * Fills `copy` with the ids of a batch: one millisecond's event ids, told apart by their number, each with a model of those
 * from `firstModel` on.
 */
export const FILL_COPY = `INSERT INTO copy
  SELECT n, id, 'SM' || md5(id || '.sms.1'), (SELECT min(m) FROM unnest($4::integer[]) WITH ORDINALITY AS s(upto, m) WHERE (n * 37) % 100 < upto) - 1
    FROM (SELECT n, 'evt_' || $3::text || upper(lpad(to_hex(n), 6, '0') || left(md5($3::text || n), 10)) AS id FROM generate_series($1::bigint, $2::bigint) AS n) ids`;
