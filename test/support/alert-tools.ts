import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe } from '@jest/globals';
import { freePort } from '../../shared/http/free-port.ts';

/** Debian calls it by its package's name, everybody else by its own. */
const ALERTMANAGER = ['/usr/bin/prometheus-alertmanager', '/usr/bin/alertmanager', '/usr/local/bin/alertmanager'].find((path) => existsSync(path));
export const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool'].find((path) => existsSync(path));
export const AMTOOL = ['/usr/bin/amtool', '/usr/local/bin/amtool'].find((path) => existsSync(path));

/** Runs the tests where Prometheus' tools and Alertmanager are found; skipped by name elsewhere, an error under REQUIRE_ALERTMANAGER=1. */
export const describeWithAlertTools = (name: string, tests: () => void): void => {
  if (ALERTMANAGER && PROMTOOL && AMTOOL) return describe(name, tests);
  if (process.env.REQUIRE_ALERTMANAGER === '1') throw new Error('REQUIRE_ALERTMANAGER=1, but not all of alertmanager, amtool and promtool were found (Debian: prometheus-alertmanager and prometheus)');
  describe.skip(`${name}: SKIPPED, there is no Alertmanager or promtool`, tests);
};

/** Runs one of the tools; `said` is all that it wrote. */
export const runTool = (path: string, args: string[], input?: string): { code: number; said: string } => {
  const { status, stdout, stderr } = spawnSync(path, args, { encoding: 'utf8', ...(input === undefined ? {} : { input }), timeout: 20_000 });
  return { code: status ?? 1, said: `${stdout}${stderr}` };
};

export interface Heard { method: string; path: string; headers: Record<string, string | string[] | undefined>; body: string }

/** A program on loopback that hears HTTP. `answer` says how; it may be changed. */
export const openListener = async () => {
  const heard: Heard[] = [];
  const waiting = new Set<() => void>();
  const answers: { status: (one: Heard) => number } = { status: () => 200 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
      heard.push(one);
      response.writeHead(answers.status(one)).end();
      for (const wake of [...waiting]) wake();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    heard, answers, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves once so many were heard that fit. */
    until: async (count: number, fits: (one: Heard) => boolean = () => true): Promise<Heard[]> => {
      for (;;) {
        const found = heard.filter(fits);
        if (found.length >= count) return found;
        await new Promise<void>((resolve) => { const wake = (): void => { waiting.delete(wake); resolve(); }; waiting.add(wake); });
      }
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
export type Listener = Awaited<ReturnType<typeof openListener>>;


export interface ToldAlert { labels: Record<string, string>; annotations: Record<string, string>; startsAt: string; endsAt: string; generatorURL: string; status: { state: string } }

/** A real Alertmanager on loopback that tells `listenerUrl` of everything, both ends of it. */
export const openAlertmanager = async (listenerUrl: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-alertmanager-'));
  const port = await freePort();
  await writeFile(join(folder, 'alertmanager.yml'), `route: { receiver: all, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h }
receivers:
  - name: all
    webhook_configs: [{ url: '${listenerUrl}/notify', send_resolved: true }]
`);
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(ALERTMANAGER as string, [`--config.file=${folder}/alertmanager.yml`, `--storage.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address='], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  // It says nowhere when it listens: asked until it answers, or is gone.
  for (let ready = false; !ready && child.exitCode === null;) {
    ready = await fetch(`${url}/-/ready`).then((response) => response.ok, () => false);
    if (!ready) await pause(50);
  }
  return {
    url,
    /** What lasts now, as it says itself. */
    alerts: async (): Promise<ToldAlert[]> => (await fetch(`${url}/api/v2/alerts`)).json() as Promise<ToldAlert[]>,
    close: async () => {
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
};
export type RunningAlertmanager = Awaited<ReturnType<typeof openAlertmanager>>;
