import type { Database } from '../../../shared/ledger/database.ts';
import type { Append } from '../../../shared/ledger/rows.ts';

/** Told of a promise that does not hold. */
export type Report = (invariant: string, about: string) => void;

const DEADLOCK = '40P01';
const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? '');

/** The promise that an error of the database breaks; null where it breaks none, and is a fault of the round itself. */
export const brokenBy = (error: unknown): string | null => {
  const code = codeOf(error);
  if (code === DEADLOCK) return 'two overlapping groups never deadlock';
  // 23 is a constraint, 21000 a row that one statement would touch twice.
  return code.startsWith('23') || code === '21000' ? 'no append breaks a constraint of the ledger' : null;
};

interface Gathered { state?: { event_id: string }[] }

const eventsOf = (values: unknown[]): string[] => ((JSON.parse(String(values[0])) as Gathered).state ?? []).map((row) => row.event_id);

export interface WatchedDatabase {
  db: Database;
  /** Statements that were sent and not answered yet. */
  readonly flying: number;
  /** What an append is about to ask of the outbox: looked for as soon as the statement that decides it is back. */
  expect: (append: Append) => void;
}

/**
 * The database as one process of the product sees it, with somebody looking on: at groups before they leave, at errors before
 * the product may retry them away, and at the outbox between two statements, where a crash would leave it.
 */
export const watchDatabase = (db: Database, report: Report): WatchedDatabase => {
  let flying = 0;
  const wanted = new Map<string, string[]>();

  const look = async (eventIds: readonly string[]): Promise<void> => {
    const keys = eventIds.flatMap((eventId) => wanted.get(eventId) ?? []);
    for (const eventId of eventIds) wanted.delete(eventId);
    if (keys.length === 0) return;
    const { rows } = await db.pool.query<{ key: string }>("SELECT attempt_key || ' ' || generation AS key FROM outbox WHERE attempt_key || ' ' || generation = ANY($1::text[])", [keys]);
    const standing = new Set(rows.map((row) => row.key));
    for (const key of keys) if (!standing.has(key)) report('an enqueue is written with its decision', key);
  };
  const query: Database['query'] = async <Row>(statement: Parameters<Database['query']>[0], values: unknown[]) => {
    const appends = statement.name.startsWith('tocsin_append_v');
    if (appends) {
      const events = eventsOf(values);
      if (new Set(events).size < events.length) report('an event stands at most once in a group', events.join(' '));
    }
    flying += 1;
    try {
      const rows = await db.query(statement, values);
      if (appends) await look((rows as unknown as { event_id: string }[]).map((row) => row.event_id));
      return rows as Row[];
    } catch (error) {
      const invariant = brokenBy(error);
      if (invariant) report(invariant, (error as Error).message);
      throw error;
    } finally {
      flying -= 1;
    }
  };
  return {
    db: { ...db, query: query as Database['query'] },
    get flying() { return flying; },
    expect: ({ eventId, rows }) => { wanted.set(eventId, rows.outbox.map((row) => `${String(row['attempt_key'])} ${String(row['generation'])}`)); },
  };
};
