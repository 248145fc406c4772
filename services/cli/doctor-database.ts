import type { CliConfig } from '../../shared/config/cli-config.ts';
import { readDatabaseUrl } from '../../shared/config/cli-config.ts';
import type { Environment } from '../../shared/config/environment.ts';
import { createDatabaseClock } from '../../shared/ledger/database-clock.ts';
import type { Database, Statement } from '../../shared/ledger/database.ts';
import { APP_ROLE, isDatabaseAway, openDatabase } from '../../shared/ledger/database.ts';
import { lastBeatAt, oldestDueAges } from '../../shared/ledger/heartbeat.ts';
import { missingMigrations } from '../../shared/ledger/migrate.ts';
import { operatorsThere } from '../../shared/ledger/operators.ts';
import { loadActivePolicies } from '../../shared/ledger/versions.ts';
import type { Finding } from './doctor-finding.ts';
import { fault, note, ok, wordsOf } from './doctor-finding.ts';
import { checkErasures } from './doctor-erasures.ts';
import { checkQueue } from './doctor-queue.ts';

const LEAST_POSTGRES = 14;
const SWEEP_FRESH_MS = 5_000;
const DUE_FRESH_MS = 10_000;

const VERSION: Statement = { name: 'tocsin_doctor_version_v1', text: `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version` };
const ROLE: Statement = {
  name: 'tocsin_doctor_role_v1',
  text: `SELECT current_user::text AS name, has_table_privilege('ledger_entry', 'INSERT') AS may_append,
                has_table_privilege('ledger_entry', 'UPDATE') OR has_table_privilege('ledger_entry', 'DELETE') AS may_rewrite`,
};

const checkServer = async (db: Database): Promise<Finding> => {
  const [row] = await db.query<{ number: number; version: string }>(VERSION, []);
  const fits = (row?.number ?? 0) >= LEAST_POSTGRES * 10_000;
  return fits ? ok('database', `answers, PostgreSQL ${row?.version}`) : fault('database', `PostgreSQL ${row?.version} is too old`, `use version ${LEAST_POSTGRES} or later`);
};

const checkMigrations = async (db: Database): Promise<Finding> => {
  const missing = await missingMigrations((text) => db.query({ name: 'tocsin_doctor_migrations_v1', text }, []));
  return missing.length === 0 ? ok('migrations', 'all applied') : fault('migrations', `${missing.length} missing, first ${missing[0]}`, 'run npx tocsin migrate');
};

const checkRole = async (db: Database): Promise<Finding> => {
  const [row] = await db.query<{ name: string; may_append: boolean; may_rewrite: boolean }>(ROLE, []);
  if (row?.name !== APP_ROLE || !row.may_append) return fault('role', `${APP_ROLE} cannot append to the ledger`, 'run npx tocsin migrate as the owner');
  if (row.may_rewrite) return fault('role', `${APP_ROLE} may change ledger entries`, `REVOKE UPDATE, DELETE ON ledger_entry FROM ${APP_ROLE}`);
  return ok('role', `${APP_ROLE} may append to the ledger and not change it`);
};

const checkEngine = async (db: Database): Promise<Finding[]> => {
  const clock = createDatabaseClock(db);
  await clock.refresh();
  const beatAt = await lastBeatAt(db, 'sweep');
  const age = beatAt === null ? null : Math.max(0, clock.now() - beatAt);
  const cure = 'start a coordinator (npm start runs one); if it runs, look into its log';
  const engine = age === null ? fault('engine', 'no sweep has ever finished: nothing decides or polls', cure)
    : age > SWEEP_FRESH_MS ? fault('engine', `the last sweep finished ${Math.round(age / 1_000)} s ago`, cure) : ok('engine', `the last sweep finished ${age} ms ago`);
  const ages = await oldestDueAges(db, clock.now());
  const words = `oldest due: decision ${ages.decisionMs} ms, poll ${ages.pollMs} ms, outbox ${ages.outboxMs} ms`;
  const late = Math.max(ages.decisionMs, ages.pollMs, ages.outboxMs) > DUE_FRESH_MS;
  return [engine, late ? fault('due', words, 'see that coordinator and queue run; what is due is done as soon as they do') : ok('due', words)];
};

const checkPublished = async (db: Database): Promise<Finding> => {
  const active = await loadActivePolicies(db);
  return active.length > 0 ? ok('published', `active: ${active.map((one) => `${one.purpose}/${one.version}`).sort().join(', ')}`) : fault('published', 'no policy is active', 'run npx tocsin migrate');
};

/** Whether there is somebody who may read the trail and change everything; a note, since all is delivered without. */
const checkOperators = async (db: Database): Promise<Finding> => {
  const { admin, any } = await operatorsThere(db);
  if (admin) return ok('operators', 'there is an admin');
  if (!any) return note('operators', 'there is none yet: the first start of a dashboard makes OPERATOR_USER an admin');
  return note('operators', 'there are operators and no admin: with any there, a dashboard makes no OPERATOR_USER', 'run npx tocsin operator add NAME --role admin');
};

/** One check; what it throws is its fault. */
const attempted = async (name: string, check: () => Promise<Finding | Finding[]>): Promise<Finding[]> => {
  try {
    return [await check()].flat();
  } catch (error) {
    return [fault(name, wordsOf(error), 'see the database\'s log')];
  }
};

/** The database and what lives in it; checks that need an earlier one are left out where that one fails. */
export const checkDatabase = async (env: Environment, config: CliConfig): Promise<Finding[]> => {
  let url: string;
  try {
    url = readDatabaseUrl(env, config);
  } catch (error) {
    return [fault('database', wordsOf(error), 'set DATABASE_URL or start the standalone')];
  }
  const findings: Finding[] = [];
  // Not as the application's role, which a database that was never migrated lacks.
  const owner = openDatabase({ url, role: null, poolSize: 1 });
  try {
    findings.push(await checkServer(owner), ...await attempted('migrations', () => checkMigrations(owner)));
  } catch (error) {
    const away = isDatabaseAway(error);
    return [...findings, fault('database', away ? 'does not answer' : wordsOf(error), away ? 'start it, or correct DATABASE_URL' : 'correct DATABASE_URL')];
  } finally {
    await owner.close();
  }
  if (findings.some((finding) => finding.verdict === 'fault')) return findings;
  const db = openDatabase({ url, poolSize: 2 });
  try {
    findings.push(
      ...await attempted('role', () => checkRole(db)), ...await attempted('published', () => checkPublished(db)),
      ...await attempted('queue', () => checkQueue(url, config)), ...await attempted('engine', () => checkEngine(db)),
      ...await attempted('operators', () => checkOperators(db)), ...await attempted('erasures', () => checkErasures(db, env, config)),
    );
    return findings;
  } finally {
    await db.close();
  }
};
