import type { Express, Response } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import { inTime } from '../../shared/http/in-time.ts';
import { isDatabaseAway } from '../../shared/ledger/database.ts';
import { missingMigrations } from '../../shared/ledger/migrate.ts';
import { sendProblem } from './problem.ts';

const notReady = (response: Response, told: { code: string; detail: string } & Record<string, unknown>): void => sendProblem(response.set('Retry-After', '5'), 503, told);

const answerReadiness = async ({ db }: Engine, response: Response): Promise<void> => {
  const missing = await inTime(missingMigrations((text) => db.query({ name: 'tocsin_migrations_v1', text }, [])));
  if (missing === null) notReady(response, { code: 'database_slow', detail: 'The database did not answer in time.' });
  else if (missing.length > 0) notReady(response, { code: 'not_migrated', detail: 'The database lacks migrations. Run "tocsin migrate".', missing_migrations: missing });
  else response.json({ status: 'ready' });
};

/** Alive; ready, which is that the database is reachable and migrated; and the metrics. For programs, and without a login. */
export const addHealth = (app: Express, engine: Engine): void => {
  app.get('/healthz', (_request, response) => { response.json({ status: 'alive' }); });
  app.get('/readyz', async (_request, response) => {
    response.set('Cache-Control', 'no-store');
    await answerReadiness(engine, response).catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error;
      notReady(response, { code: 'database_away', detail: 'The ledger cannot be reached.' });
    });
  });
  app.get('/metrics', async (_request, response) => {
    const { type, text } = await engine.metrics.scrape();
    response.set('Cache-Control', 'no-store').set('Content-Type', type).send(text);
  });
};
