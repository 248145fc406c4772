import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp } from '../test/audit/child-service.ts';
import { writePolicies } from './clocks.ts';
import { buildTree } from './build.ts';
import { drive } from './drive.ts';
import { percentile } from './figures.ts';
import { openGround } from './ground.ts';
import { startProduct } from './product.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { peakMemoryMb, readSpent, spentEach } from './spent.ts';
import { startBaseline } from './unsafe-baseline.ts';

const folder = mkdtempSync('/tmp/tocsin-bench-');
const backend = process.argv[2] === 'postgres' ? 'postgres' : 'redis';
const only = process.argv[3] ?? '';
const profile = process.env['BENCH_PROF'] === '1';
const total = Number(process.argv[4] ?? 2000);
try {
  const tree = buildTree(join(folder, 'tree'));
  const ground = await openGround(folder, backend, profile ? ['shared_preload_libraries=pg_stat_statements,auto_explain', 'pg_stat_statements.track=all', 'pg_stat_statements.track_planning=on', ...(process.env['BENCH_EXPLAIN'] === '1' ? ['auto_explain.log_min_duration=4', 'auto_explain.log_analyze=on', 'auto_explain.log_nested_statements=on'] : [])] : undefined);
  const sandbox = await startSandboxProcess(tree);
  const policyDir = writePolicies(join(folder, 'policies'));
  const makers = [
    () => startProduct({ ground, sandbox, folder, tree, policyDir, shape: 'services', redisNumber: 1, profile }),
    () => startProduct({ ground, sandbox, folder, tree, policyDir, shape: 'standalone', redisNumber: 2, profile }),
    () => startBaseline({ ground, sandbox, folder, tree, shape: 'two', redisNumber: 3 }),
    () => startBaseline({ ground, sandbox, folder, tree, shape: 'one', redisNumber: 4 }),
  ];
  const names = ['services', 'standalone', 'two', 'one'];
  for (const [i, make] of makers.entries()) {
    if (only !== '' && !only.split(',').includes(names[i] as string)) continue;
    const c = await make();
    await drive(c, { clocks: 'load', total: 400, cap: 200, width: 48 });
    await sandbox.take();
    const pids = { node: c.pids, sandbox: sandbox.pid };
    if (profile) { c.tell('SIGUSR2'); await ground.admin.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements'); await ground.admin.query('SELECT pg_stat_statements_reset()'); }
    const before = await readSpent(ground, pids);
    const seen = new Map<string, number>();
    const sampler = setInterval(() => {
      void ground.admin.query<{ what: string }>(`SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 40) || ' | ' || state || ' | ' || coalesce(wait_event_type || ':' || wait_event, 'CPU') AS what FROM pg_stat_activity WHERE datname LIKE 'product%' OR datname LIKE 'baseline%'`)
        .then(({ rows }) => rows.forEach(({ what }) => seen.set(what, (seen.get(what) ?? 0) + 1)));
    }, 50);
    const d = await drive(c, { clocks: 'load', total, cap: 400, width: 48 });
    clearInterval(sampler);
    if (process.env['BENCH_WAITS'] === '1') for (const [what, n] of [...seen].sort((a, b) => b[1] - a[1]).slice(0, 25)) process.stdout.write(`     ${n} ${what}\n`);
    const after = await readSpent(ground, pids);
    const { receipts, duplicates } = await sandbox.take();
    const email = receipts.filter(([key]) => key.includes('.email.')).length;
    if (profile) {
      c.tell('SIGUSR2');
      const { rows } = await ground.admin.query<{ calls: string; ms: number; plan: number; query: string; top: boolean }>(`SELECT calls::text, total_exec_time + total_plan_time AS ms, total_plan_time AS plan, toplevel AS top, left(regexp_replace(query, '\\s+', ' ', 'g'), 150) AS query FROM pg_stat_statements ORDER BY ms DESC LIMIT 22`);
      for (const row of rows) process.stdout.write(`   ${(row.ms / total).toFixed(3)} ms/wf (plan ${(row.plan / total).toFixed(3)}) ${(Number(row.calls) / total).toFixed(3)} calls/wf ${(row.ms / Number(row.calls)).toFixed(3)} ms ${row.top ? '' : '(inner) '}${row.query}\n`);
    }
    if (profile) await new Promise((resolve) => setTimeout(resolve, 4_000));
    const each = spentEach(before, after, total);
    process.stdout.write(`${c.name}: ${d.completedPerS.toFixed(0)}/s accepted ${d.acceptedPerS.toFixed(0)}/s stuck ${d.stuck} emails ${email} sms ${receipts.length - email} dup ${duplicates} mem ${peakMemoryMb(c.pids).toFixed(0)}\n  ${JSON.stringify(Object.fromEntries(Object.entries(each).map(([k, v]) => [k, Math.round(v * 100) / 100])))}\n`);
    if (c.name.startsWith('product')) {
      const { default: pg } = await import('pg');
      const url = new URL(ground.adminUrl); url.pathname = `/product_${c.name.split(', ')[1]}`;
      const own = new pg.Client({ connectionString: url.href });
      await own.connect();
      const { rows } = await own.query(`SELECT kind, prev, count(*)::int AS n, round(avg(ms)) AS avg, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)) AS p50, round(percentile_cont(0.99) WITHIN GROUP (ORDER BY ms)) AS p99 FROM (
        SELECT e.kind, lag(e.kind) OVER w AS prev, extract(epoch FROM e.at - lag(e.at) OVER w) * 1000 AS ms FROM ledger_entry e WHERE event_id = ANY($1) WINDOW w AS (PARTITION BY event_id ORDER BY version)) x WHERE prev IS NOT NULL AND ms > 0 GROUP BY 1, 2 ORDER BY n DESC LIMIT 12`, [d.ids]);
      for (const r of rows) process.stdout.write(`     ${r.prev} -> ${r.kind}: n ${r.n} avg ${r.avg} p50 ${r.p50} p99 ${r.p99}\n`);
      await own.end();
    }
    if (process.argv[5] !== undefined) {
      const rate = d.completedPerS / 2;
      const l = await drive(c, { clocks: 'lag', total: Number(process.argv[5]), cap: Infinity, width: Infinity, perSecond: rate });
      const r = await sandbox.take();
      const deadlines = await c.deadlines(l.ids);
      const at = new Map(r.receipts);
      const lag: number[] = [];
      const toProvider: number[] = [];
      for (const id of l.ids) {
        const emailAt = at.get(`${id}.email.1`);
        const due = deadlines.get(id) as number;
        if (emailAt !== undefined && emailAt >= due) lag.push(emailAt - due);
        toProvider.push((at.get(`${id}.sms.1`) as number) - (l.acceptedAt.get(id) as number));
      }
      process.stdout.write(`  at ${rate.toFixed(0)}/s: lag n ${lag.length} p50 ${percentile(lag, 0.5)} p99 ${percentile(lag, 0.99)}; 202->provider p50 ${percentile(toProvider, 0.5).toFixed(1)} p99 ${percentile(toProvider, 0.99).toFixed(1)} emails ${r.receipts.filter(([k]) => k.includes('.email.')).length} stuck ${l.stuck}\n`);
    }
    c.freeze();
  }
} finally {
  await cleanUp();
  process.stdout.write(`${folder}\n`);
}
process.exit(0);
