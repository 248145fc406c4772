import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import { startMetricsServer } from '../../shared/http/metrics-server.ts';
import { cachedFor, createMetrics } from '../../shared/telemetry/metrics.ts';
import { watchOldestDue } from '../../shared/delivery/watch-oldest-due.ts';
import type { Rig } from '../intake/rig.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';

const namesIn = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] as string);

describe('the metrics of a running intake', () => {
  let rig: Rig;
  let url = '';
  beforeAll(async () => {
    rig = await createRig();
    ({ url } = await rig.start());
  });
  afterAll(() => rig.close());

  test('are those that the documentation lists, and no others', async () => {
    const { status, headers, text } = await ask(`${url}/metrics`);
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain; version=0.0.4')]);
    const documented = [...(await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8')).matchAll(/^\| `(tocsin_\w+)` \|/gm)].map((match) => match[1]);
    expect(namesIn(text).filter((name) => name.startsWith('tocsin_')).sort()).toEqual(documented.sort());
  });

  test('are shown by the dashboard too, without its login and nothing else of it', async () => {
    const dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'operator', password: 'not-a-secret' } } });
    try {
      const { status, text } = await ask(`${dashboard.url}/metrics`);
      expect([status, namesIn(text)]).toEqual([200, namesIn((await ask(`${url}/metrics`)).text)]);
      expect((await ask(dashboard.url)).status).toBe(401);
    } finally {
      await dashboard.close();
    }
  });

  test('have names with units, and label names of closed sets only', async () => {
    const { text } = await ask(`${url}/metrics`);
    for (const name of namesIn(text).filter((one) => one.startsWith('tocsin_'))) expect(name).toMatch(/_(total|seconds|info|size|in_hand|at_risk|alerts_open|refuses|bytes|per_month)$/);
    const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map((match) => match[1]));
    const closed = ['outcome', 'result', 'statement', 'channel', 'provider', 'reason', 'call', 'cause', 'queue', 'backend', 'kind', 'region', 'class', 'purpose', 'receiver', 'finding', 'version', 'node', 'service', 'le'];
    expect([...labels].filter((label) => !closed.includes(label as string))).toEqual([]);
  });

  test('count a ticket as accepted once, and its repetition as a replay', async () => {
    const count = async (outcome: string): Promise<number> =>
      Number(new RegExp(`^tocsin_acceptances_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec((await ask(`${url}/metrics`)).text)?.[1] ?? 0);
    const before = [await count('accepted'), await count('replayed')];
    const ticket = aTicket();
    for (let times = 0; times < 3; times += 1) await postJson(`${url}/tickets`, ticket, { 'Idempotency-Key': 'metrics-1' });
    expect([await count('accepted'), await count('replayed')]).toEqual([(before[0] as number) + 1, (before[1] as number) + 2]);
  });

  test('show the age of the oldest due row, and none while the database does not answer', async () => {
    const metrics = createMetrics();
    watchOldestDue(metrics, rig.engine.db, () => Date.now() + 3_600_000);
    expect((await metrics.scrape()).text).toMatch(/^tocsin_oldest_due_row_age_seconds\{kind="outbox"\} 3[56]\d\d/m);
    const away = createMetrics();
    watchOldestDue(away, { ...rig.engine.db, query: () => Promise.reject(new Error('away')) }, Date.now);
    expect((await away.scrape()).text).not.toMatch(/^tocsin_oldest_due_row_age_seconds\{/m);
  });
});

describe('a reading that is remembered for a while', () => {
  test('is made once for many who ask, and again after one that failed', async () => {
    let made = 0;
    const read = cachedFor(60_000, () => {
      made += 1;
      return made === 1 ? Promise.reject(new Error('away')) : Promise.resolve(made);
    });
    await expect(read()).rejects.toThrow('away');
    expect(await Promise.all([read(), read(), read()])).toEqual([2, 2, 2]);
  });
});

describe('a service without an HTTP server of its own', () => {
  test('answers health and metrics on its port, and nothing else', async () => {
    const metrics = createMetrics();
    metrics.addProcess();
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0, scrape: metrics.scrape });
    try {
      expect((await ask(`${server.url}/healthz`)).body).toEqual({ status: 'alive' });
      const { text } = await ask(`${server.url}/metrics?x=1`);
      expect(namesIn(text)).toEqual(expect.arrayContaining(['tocsin_appends_total', 'process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds', 'nodejs_gc_duration_seconds']));
      expect((await ask(`${server.url}/`)).status).toBe(404);
      expect((await ask(`${server.url}/metrics`, { method: 'POST' })).status).toBe(405);
    } finally {
      await server.close();
    }
  });
});
