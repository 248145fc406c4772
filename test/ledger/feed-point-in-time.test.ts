import { execFile } from 'node:child_process';
import { chown, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { acceptOne, idsOf, readPage, readRest, readUntil, untilSettled } from './feed-support.ts';

const QUICK = ['fsync=off', 'full_page_writes=off'];
const ring = generateKeyRingText();
const running = new Set<EmbeddedPostgres>();
let folder: string;

beforeAll(async () => { folder = await mkdtemp(join(tmpdir(), 'tocsin-point-')); });
afterAll(async () => {
  await Promise.all([...running].map((server) => server.stop()));
  await rm(folder, { recursive: true, force: true });
});

/** Resolves once a server that recovers takes writes. */
const untilWritable = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const givesUpAt = performance.now() + 50_000;
  try {
    while ((await client.query('SELECT pg_is_in_recovery() AS recovering')).rows[0].recovering === true) {
      if (performance.now() > givesUpAt) throw new Error('the server does not end its recovery');
    }
  } finally {
    await client.end();
  }
};

/** Runs a work on the cluster of a folder, and stops it. */
const on = async <Result>(dataDir: string, options: string[], work: (engine: Engine) => Promise<Result>): Promise<Result> => {
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined, extraOptions: [...QUICK, ...options] });
  running.add(server);
  await untilWritable(server.url);
  await migrate(server.url);
  const engine = await createTestEngine({ url: server.url, ring });
  try {
    return await work(engine);
  } finally {
    await engine.close();
    await server.stop();
    running.delete(server);
  }
};

/** Makes the next start of a cluster a recovery that ends in a timeline of its own, as a restore to a point in time does. */
const asRestored = async (dataDir: string): Promise<string> => {
  const found = (await readdir(dataDir, { recursive: true })).find((path) => path.endsWith('PG_VERSION') && !path.includes('base'));
  const version = join(dataDir, found as string);
  const signal = join(dirname(version), 'recovery.signal');
  await writeFile(signal, '');
  const { uid, gid } = await stat(version);
  await chown(signal, uid, gid);
  return dataDir;
};

test('after a restore to a point in time, whose transaction ids begin again from there, a later cursor skips nothing', async () => {
  const origin = join(folder, 'origin');
  const kept = await on(origin, [], (engine) => acceptOne(engine));
  const copy = join(folder, 'copy');
  await promisify(execFile)('cp', ['-a', origin, copy]);
  const lost = await on(origin, [], async (engine) => {
    const ids = [];
    for (let count = 0; count < 12; count += 1) ids.push(await acceptOne(engine));
    const { items, cursor } = await readUntil(engine, null, (all) => all.length === 13);
    expect(idsOf(items)).toEqual([kept, ...ids]);
    return { cursor, xid: BigInt((await engine.db.pool.query('SELECT max(xid::text::bigint) AS xid FROM ledger_entry')).rows[0].xid as string) };
  });
  await on(await asRestored(copy), ['restore_command=false'], async (engine) => {
    const added = await acceptOne(engine);
    const { rows: [row] } = await engine.db.pool.query('SELECT min(xid::text::bigint) AS xid FROM ledger_entry WHERE event_id = $1', [added]);
    expect(BigInt(row.xid as string)).toBeLessThan(lost.xid);
    await untilSettled(engine);
    expect(idsOf(await readRest(engine, lost.cursor))).toEqual([added]);
    expect(idsOf((await readPage(engine, null)).items)).toEqual([kept, added]);
  });
}, 240_000);
