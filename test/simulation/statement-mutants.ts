import type { Mutant } from './mutants.ts';

const one = (number: number, name: string, file: string, [find, put]: [string, string]): Mutant => ({ number, name, on: 'statements', patches: [{ file, find, put }] });

const APPEND = 'shared/ledger/append-group.ts';
const CLAIMS = 'shared/ledger/claims.ts';
const FEED = 'prisma/migrations/20261129130100_feed/migration.sql';
const FEED_RANGE = `   WHERE (e.epoch, e.xid, e.position) > ($1, $2, $3) AND (e.epoch, e.xid) < ($4, $5)
   ORDER BY e.epoch, e.xid, e.position LIMIT $6`;

/** Mistakes that live in the statements themselves: planted there, and looked for on a real Postgres by the statement rounds. */
export const STATEMENT_MUTANTS: readonly Mutant[] = [
  one(1, 'append-without-version-check', APPEND, [' AND s.version = i.expected', '']),
  one(2, 'locks-in-the-order-of-the-group', APPEND, ['ORDER BY s.event_id FOR NO KEY UPDATE OF s', 'ORDER BY array_position($2::text[], s.event_id) FOR NO KEY UPDATE OF s']),
  one(2, 'load-locks-in-another-order', 'shared/ledger/load.ts', [
    'WHERE s.event_id = ANY($1::text[])`', 'WHERE s.event_id = ANY($1::text[]) ORDER BY s.event_id DESC FOR NO KEY UPDATE OF s`',
  ]),
  one(2, 'event-twice-in-a-group', 'shared/ledger/group-commit.ts', [' && !keys.has(key)', '']),
  {
    number: 14, name: 'outbox-row-in-a-second-transaction', on: 'statements', patches: [{
      file: APPEND,
      find: `const rows = await db.query<{ event_id: string }>(counted ? APPEND_COUNTED : all ? APPEND_ALL : APPEND, parametersOf(appends, all));`,
      put: `const rows = await db.query<{ event_id: string }>(counted ? APPEND_COUNTED : all ? APPEND_ALL : APPEND, parametersOf(appends.map((one) => ({ ...one, rows: { ...one.rows, outbox: [] } })), all));
  const LATER = rowArrays(2, { outbox: COLUMNS.outbox });
  await db.query({ name: 'tocsin_enqueue_later', text: \`INSERT INTO outbox (event_id, attempt_key, channel, generation, not_before_at)
    SELECT o.event_id, o.attempt_key, o.channel, o.generation, o.not_before_at FROM \${LATER.from('outbox')} o WHERE o.event_id = ANY($1::text[])\` },
  [rows.map((row) => row.event_id), ...LATER.values({ outbox: gather(appends, 'outbox') })]);`,
    }],
  },
  {
    number: 15, name: 'relay-deletes-first', on: 'statements', patches: [
      {
        file: CLAIMS, find: '      await enqueue(inOrder',
        put: "      await client.query('COMMIT');\n      await client.query('BEGIN');\n      await enqueue(inOrder",
      },
    ],
  },
  {
    number: 19, name: 'feed-by-position-alone', on: 'statements', patches: [
      { file: FEED, find: FEED_RANGE, put: '   WHERE e.position > $3 ORDER BY e.position LIMIT $6' },
      // A place is a position then, and says nothing of transactions.
      { file: 'shared/delivery/read-feed.ts', find: 'horizon.descends\n  && (', put: 'horizon.descends || (' },
    ],
  },
  one(20, 'feed-by-position-below-xmin', FEED, [FEED_RANGE, '   WHERE e.position > $3 AND (e.epoch, e.xid) < ($4, $5) ORDER BY e.position LIMIT $6']),
  one(22, 'one-lease-for-poll-and-decision', CLAIMS, [
    'WHERE decide_at <= $1::timestamptz ORDER BY decide_at LIMIT $2) s',
    'q WHERE decide_at <= $1::timestamptz AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.event_id = q.event_id AND a.poll_leased_until > $1::timestamptz) ORDER BY decide_at LIMIT $2) s',
  ]),
  one(26, 'hash-without-the-previous-in-the-database', 'shared/security/chain-hash.ts', ['bytes.set(previousHash);', 'bytes.fill(0, 0, previousHash.length);']),
];
