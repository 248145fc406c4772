import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { cleanUp } from '../test/audit/child-service.ts';
import { runCommand, UsageError, wholeNumber } from '../test/audit/options.ts';
import { buildTree } from './build.ts';
import { writePolicies } from './clocks.ts';
import { drive } from './drive.ts';
import { openGround } from './ground.ts';
import { startProduct } from './product.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { readSpent, spentEach } from './spent.ts';

/*
 * node --import tsx bench/profile-main.ts [redis|postgres] [services|standalone] [WORKFLOWS]
 * What dominates: statements of Postgres, time between entries, and a CPU profile of each process; read those with
 * `node bench/read-profile.mjs FOLDER WORKFLOWS`.
 */

const MODULES = ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track=all', 'pg_stat_statements.track_planning=on'];
const PROFILE_WRITTEN_MS = 4_000;
const WARM = 400;

const STATEMENTS = `SELECT calls, total_exec_time + total_plan_time AS ms, total_plan_time AS plan_ms, toplevel, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) AS query
  FROM pg_stat_statements ORDER BY ms DESC LIMIT 24`;
const STAGES = `
SELECT prev, kind, count(*)::int AS n, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS p99 FROM (
  SELECT e.kind, lag(e.kind) OVER w AS prev, extract(epoch FROM e.at - lag(e.at) OVER w)::float8 * 1000 AS ms FROM ledger_entry e WHERE event_id = ANY($1)
  WINDOW w AS (PARTITION BY event_id ORDER BY version)) x
 WHERE prev IS NOT NULL AND ms > 0 GROUP BY 1, 2 ORDER BY n DESC LIMIT 12`;

const say = (line: string): void => { process.stdout.write(`${line}\n`); };

const profile = async ([backend = 'redis', shape = 'services', count = '2000']: string[]): Promise<number> => {
  if ((backend !== 'redis' && backend !== 'postgres') || (shape !== 'services' && shape !== 'standalone')) throw new UsageError('profile-main.ts [redis|postgres] [services|standalone] [WORKFLOWS]');
  const total = wholeNumber('workflows', count);
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-bench-'));
  const tree = buildTree(join(folder, 'tree'));
  const ground = await openGround(folder, backend, MODULES);
  const sandbox = await startSandboxProcess(tree);
  const product = await startProduct({ ground, sandbox, folder, tree, policyDir: writePolicies(join(folder, 'policies')), shape, redisNumber: 1, profile: true });
  await drive(product, { clocks: 'load', total: WARM, cap: 150, width: 48 });
  await ground.admin.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  await ground.admin.query('SELECT pg_stat_statements_reset()');
  const pids = { node: product.pids, sandbox: sandbox.pid };
  const before = await readSpent(ground, pids);
  product.tell('SIGUSR2');
  const driven = await drive(product, { clocks: 'load', total, cap: 150, width: 48 });
  const after = await readSpent(ground, pids);
  product.tell('SIGUSR2');
  say(`${product.name}: ${driven.completedPerS.toFixed(0)}/s; of one workflow: ${Object.entries(spentEach(before, after, total)).map(([name, value]) => `${name} ${value.toFixed(2)}`).join(', ')}`);
  const { rows: statements } = await ground.admin.query<{ calls: string; ms: number; plan_ms: number; toplevel: boolean; query: string }>(STATEMENTS);
  for (const one of statements) say(`${(one.ms / total).toFixed(3)} ms (${(one.plan_ms / total).toFixed(3)} planning), ${(Number(one.calls) / total).toFixed(2)} times ${one.toplevel ? '' : '(within) '}${one.query}`);
  const url = new URL(ground.adminUrl);
  url.pathname = `/product_${shape}`;
  const ledger = new pg.Client({ connectionString: url.href });
  await ledger.connect();
  const { rows: stages } = await ledger.query<{ prev: string; kind: string; n: number; p50: number; p99: number }>(STAGES, [driven.ids]).finally(() => ledger.end());
  for (const one of stages) say(`${one.prev} -> ${one.kind}: ${one.n} times, p50 ${one.p50.toFixed(0)} ms, p99 ${one.p99.toFixed(0)} ms`);
  await pause(PROFILE_WRITTEN_MS);
  say(`profiles: ${folder}`);
  return 0;
};

await runCommand(() => profile(process.argv.slice(2)).finally(cleanUp), cleanUp);
process.exit();
