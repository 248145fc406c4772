import pg from 'pg';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

/** The role under which services work: it may insert into and read what is append-only, and nothing more. */
export const APP_ROLE = 'tocsin_app';

export interface DatabaseSettings {
  url: string;
  /** Most connections of this process; a few are faster than many. */
  poolSize?: number;
  /** Null connects as the URL's own user, for migrations only. */
  role?: string | null;
  /** How long to wait for a connection before the database counts as away. */
  connectTimeoutMs?: number;
  onPoolError?: (error: Error) => void;
}

/**
 * A statement with the name under which the server keeps its plan. `fixedPlan`: planned once for a connection, which pays where planning
 * costs more than the work, and is safe where every table is reached by `= ANY($n)` or a key, so that no statistics can mislead it.
 */
export interface Statement { name: string; text: string; fixedPlan?: true }

export interface Database {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  query: <Row extends pg.QueryResultRow>(statement: Statement, values: unknown[]) => Promise<Row[]>;
  close: () => Promise<void>;
}

/**
 * Opens the connections of a process, two thirds of them for statements with a fixed plan, the others for Prisma and all else, whose plans are made anew:
 * one made on an empty table must not outlive it. Connects lazily; `close` ends them.
 */
export const openDatabase = (settings: DatabaseSettings): Database => {
  const poolSize = settings.poolSize ?? 6;
  const forFixedPlans = Math.max(1, Math.floor((poolSize * 2) / 3));
  const pool = openPool(settings, Math.max(1, poolSize - forFixedPlans), '-c plan_cache_mode=force_custom_plan');
  // A sequential scan of a table that was empty when it was planned would last as long as the connection; and for the few rows that they ask for, a bitmap costs more than it saves.
  const fixed = openPool(settings, forFixedPlans, '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off');
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    pool,
    prisma,
    query: async ({ name, text, fixedPlan }, values) => (await (fixedPlan ? fixed : pool).query({ name, text, values })).rows,
    close: async () => {
      await prisma.$disconnect();
      await Promise.all([pool.end(), fixed.end()]);
    },
  };
};

const openPool = (settings: DatabaseSettings, max: number, planning: string): pg.Pool => {
  const role = settings.role === undefined ? APP_ROLE : settings.role;
  const pool = new pg.Pool({
    connectionString: settings.url,
    max,
    idleTimeoutMillis: 600_000,
    connectionTimeoutMillis: settings.connectTimeoutMs ?? 3_000,
    query_timeout: 30_000,
    keepAlive: true,
    application_name: 'tocsin',
    options: `${role === null ? '' : `-c role=${role} `}${planning}`,
  });
  // Without a listener an idle connection that the server ends would end the process.
  pool.on('error', (error) => settings.onPoolError?.(error));
  // The pool listens to idle clients only: one that is out while its connection ends would end the process.
  pool.on('connect', (client) => { client.on('error', (error) => settings.onPoolError?.(error)); });
  return pool;
};

const AWAY_CODES = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT', 'ENOTFOUND', 'EHOSTUNREACH',
  '57P01', '57P02', '57P03', '08000', '08001', '08003', '08006', '53300',
  'P1001', 'P1002', 'P1008', 'P1017', 'P2024',
]);
const AWAY_TEXT = /connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|server closed the connection|is not queryable|can't reach database|the database system is/i;

interface ErrorShape { code?: unknown; constraint?: unknown; message?: unknown; cause?: unknown; errors?: unknown; meta?: { driverAdapterError?: unknown } }

// By shape and not by class: an error may come from another realm, and drivers wrap each other's.
const errorChain = function* (error: unknown): Generator<ErrorShape> {
  let current: unknown = error;
  for (let depth = 0; typeof current === 'object' && current !== null && depth < 6; depth += 1) {
    const shape = current as ErrorShape;
    yield shape;
    current = shape.cause ?? shape.meta?.driverAdapterError;
  }
};

/** Whether the database could not be reached or went away in mid-statement: what was asked may or may not have happened. */
export const isDatabaseAway = (error: unknown): boolean => [...errorChain(error)].some((each) =>
  AWAY_CODES.has(String(each.code ?? '')) || AWAY_TEXT.test(String(each.message ?? ''))
  || (Array.isArray(each.errors) && each.errors.some(isDatabaseAway)));

/** Refused, not found, or no connection in time: the statement never left. */
const UNSENT_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', '57P03', '53300', 'P1001', 'P2024']);
const UNSENT_TEXT = /timeout exceeded when trying to connect|due to connection timeout|timeout expired/i;

/** Whether the database went away with a statement that may have reached it, and may be carried out. */
export const isAwayInMidStatement = (error: unknown): boolean => isDatabaseAway(error)
  && ![...errorChain(error)].some(({ code, message }) => UNSENT_CODES.has(String(code ?? '')) || UNSENT_TEXT.test(String(message ?? '')));

const UNIQUE_VIOLATION = '23505';

/** Whether an append failed because another attempt has the provider's id that it would have taken: one message is never two attempts'. */
export const isMessageTaken = (error: unknown): boolean =>
  [...errorChain(error)].some(({ code, constraint }) => code === UNIQUE_VIOLATION && constraint === 'attempt_provider_message');
