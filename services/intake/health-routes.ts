import type { RequestHandler, Router } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import { inTime } from '../../shared/http/in-time.ts';
import { oldestDueAges } from '../../shared/ledger/heartbeat.ts';
import { missingMigrations } from '../../shared/ledger/migrate.ts';
import { Problem } from './problem.ts';
import { addRoute } from './routes.ts';

const BEHIND_AFTER_MS = 10_000;

/** @throws Problem 503 where the check hangs. */
const answered = async <Value>(check: Promise<Value>): Promise<Value> => {
  const value = await inTime(check);
  if (value === null) throw new Problem({ status: 503, code: 'database_slow', detail: 'The database did not answer in time.', headers: { 'Retry-After': '5' } });
  return value;
};

const ready = (engine: Engine): RequestHandler => async (_request, response) => {
  const missing = await answered(missingMigrations((text) => engine.db.query({ name: 'tocsin_migrations_v1', text }, [])));
  if (missing.length > 0) {
    throw new Problem({ status: 503, code: 'not_migrated', detail: 'The database lacks migrations. Run "tocsin migrate".', members: { missing_migrations: missing } });
  }
  response.json({ status: 'ready' });
};

const engineHealth = (engine: Engine): RequestHandler => async (_request, response) => {
  const { decisionMs, pollMs, outboxMs } = await answered(oldestDueAges(engine.db, engine.now()));
  const oldestDue = { decision_ms: decisionMs, poll_ms: pollMs, outbox_ms: outboxMs };
  if (Math.max(decisionMs, pollMs, outboxMs) > BEHIND_AFTER_MS) {
    throw new Problem({ status: 503, code: 'engine_behind', detail: `Work has been due for more than ${BEHIND_AFTER_MS / 1000} seconds. See that a coordinator runs.`, members: { oldest_due: oldestDue } });
  }
  response.json({ status: 'ok', oldest_due: oldestDue });
};

/** Alive; ready (database reachable and migrated); and whether the engine keeps up, by the age of the oldest due row. And the metrics. */
export const addHealthRoutes = (router: Router, engine: Engine): void => {
  const uncached: RequestHandler = (_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  };
  addRoute(router, '/healthz', { get: [uncached, (_request, response) => { response.json({ status: 'alive' }); }] });
  addRoute(router, '/readyz', { get: [uncached, ready(engine)] });
  addRoute(router, '/healthz/engine', { get: [uncached, engineHealth(engine)] });
  addRoute(router, '/metrics', { get: [uncached, async (_request, response) => {
    const { type, text } = await engine.metrics.scrape();
    response.set('Content-Type', type).send(text);
  }] });
};
