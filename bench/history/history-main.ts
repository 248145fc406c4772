import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import { openClient } from './open-client.ts';
import { openClocked } from './engine.ts';
import { openMeter } from './meter.ts';
import { makeHistory } from './prepare.ts';
import type { Sizes } from './prepare.ts';
import { BOUND, compare, missed, tableOf } from './report.ts';
import { measureRounds } from './rounds.ts';
import type { Subject } from './rounds.ts';

const USAGE = `npm run bench -- --history [--quick] [--rounds N] [--json FILE] [--dir DIR]

Whether cost grows with history: loads two databases of one embedded Postgres, one with 50,000 and one with 1,000,000 settled
notifications, both with 100,000 pending, and measures intake, feed, relay, the coordinator's tick, leases of polls and sweeps of due
decisions on both in turn (docs/bench-history.md).

  --quick       5,000 and 100,000 settled, 10,000 pending
  --settled A,B --pending N   other sizes
  --rounds N    rounds that count (default 9)
  --json FILE   the figures, also as JSON
  --dir DIR     keeps the cluster there, and uses the databases of those sizes again that an earlier run has left there

Exit 0: the larger history costs at most ${BOUND} times the smaller one; 1: it does not; 2: usage.
`;

// Loading need not survive a power cut, and wants memory; what is measured runs with the product's own settings, durable.
const LOADING = ['fsync=off', 'full_page_writes=off', 'shared_buffers=1GB', 'max_wal_size=32GB', 'checkpoint_timeout=1h', 'autovacuum=off'];
// No background work falls into the one half of a comparison and not into the other.
const MEASURING = ['autovacuum=off', 'checkpoint_timeout=1h', 'max_wal_size=32GB'];
const WARM_UP = 2;

const say = (line: string): void => { process.stdout.write(`${line}\n`); };

interface Options { settled: [number, number]; pending: number; rounds: number; json: string | undefined; dir: string | undefined }

const readOptions = (argv: string[]): Options | null => {
  const { values } = parseArgs({
    args: argv, options: {
      quick: { type: 'boolean', default: false }, settled: { type: 'string' }, pending: { type: 'string' }, rounds: { type: 'string' }, json: { type: 'string' }, dir: { type: 'string' },
    },
  });
  const [few = 0, many = 0] = (values.settled ?? (values.quick ? '5000,100000' : '50000,1000000')).split(',').map(Number);
  const [pending, rounds] = [Number(values.pending ?? (values.quick ? 10_000 : 100_000)), Number(values.rounds ?? 9)];
  const sound = [few, many, pending, rounds].every((number) => Number.isInteger(number) && number > 0) && few < many && many < 8_000_000;
  return sound ? { settled: [few, many], pending, rounds, json: values.json, dir: values.dir } : null;
};

const withAdmin = async <Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> => {
  const client = await openClient(url);
  return work(client).finally(() => client.end());
};

interface Place { name: string; startAt: number }

/** Loads what is not there yet. A database is given its name once it is whole. */
const load = async (dataDir: string, { settled, pending }: Options): Promise<Place[]> => {
  const server = await startEmbeddedPostgres({ dataDir, log: say, extraOptions: LOADING });
  const startAt = Math.floor(Date.now() / 1_000) * 1_000;
  try {
    const places: Place[] = [];
    for (const count of settled) {
      const wanted = `history_${count}_${pending}_`;
      const there = await withAdmin(server.url, async (client) => (await client.query<{ datname: string }>('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [wanted])).rows[0]?.datname);
      const name = there ?? `${wanted}${startAt}`;
      if (there === undefined) {
        const sizes: Sizes = { settled: count, pending };
        await makeHistory(server.url, `loading_${count}_${startAt}`, { startAt, sizes, say });
        await withAdmin(server.url, (client) => client.query(`ALTER DATABASE loading_${count}_${startAt} RENAME TO ${name}`));
      }
      places.push({ name, startAt: Number(name.split('_').at(-1)) });
    }
    await withAdmin(server.url, (client) => client.query('CHECKPOINT'));
    return places;
  } finally {
    await server.stop();
  }
};

const measure = async (dataDir: string, places: readonly Place[], { rounds }: Options) => {
  const server = await startEmbeddedPostgres({ dataDir, log: say, extraOptions: MEASURING });
  const subjects: Subject[] = [];
  try {
    for (const { name, startAt } of places) {
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      const clocked = await openClocked(url.href);
      // Where rounds were measured before, time has gone on by as much as they moved the clock.
      const { rows: [row] } = await clocked.engine.db.pool.query<{ at: Date | null }>('SELECT max(updated_at) AS at FROM notification_state WHERE updated_at < $1', [new Date(startAt + 60 * 86_400_000)]);
      clocked.moveTo(Math.max(startAt, (row?.at?.getTime() ?? 0) + 86_400_000));
      subjects.push({ database: { name, url: url.href, ...clocked }, meter: await openMeter(url.href, clocked.engine.db) });
    }
    return await measureRounds(subjects, { rounds, warmUp: WARM_UP, say });
  } finally {
    for (const { database, meter } of subjects) {
      await meter.close();
      await database.close();
    }
    await server.stop();
  }
};

/** Runs the comparison. 0: within the bound; 1: not, or it failed; 2: usage. */
export const historyMain = async (argv: string[]): Promise<number> => {
  if (argv.includes('--help')) return say(USAGE), 0;
  let options: Options | null;
  try {
    options = readOptions(argv);
  } catch (error) {
    say((error as Error).message);
    options = null;
  }
  if (options === null) return say(USAGE), 2;
  const dataDir = options.dir ?? await mkdtemp(join(tmpdir(), 'tocsin-history-'));
  try {
    const places = await load(dataDir, options);
    const rows = compare(await measure(dataDir, places, options));
    say('');
    for (const line of tableOf(rows, options)) say(line);
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ ...options, bound: BOUND, rows }, null, 2)}\n`);
    const over = missed(rows);
    say(over.length === 0 ? `\nThe larger history costs at most ${BOUND} times the smaller one.` : `\nMISSED: ${over.join('; ')}`);
    return over.length === 0 ? 0 : 1;
  } finally {
    if (options.dir === undefined) await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await historyMain(process.argv.slice(2));
