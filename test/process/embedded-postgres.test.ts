import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresSettings } from '../../services/standalone/embedded-postgres.ts';
import { waitUntil } from '../../services/standalone/embedded-postmaster.ts';
import { isRunning } from '../../services/standalone/embedded-process.ts';

const source = new URL('../../services/standalone/embedded-postgres.ts', import.meta.url).href;
const onLinux = process.platform === 'linux' ? it : it.skip;
const asRoot = process.getuid?.() === 0 ? it : it.skip;

let seed: string;
let home: string;
let dataDir: string;
let lines: string[];
const running: EmbeddedPostgres[] = [];

const start = async (settings: Partial<EmbeddedPostgresSettings> = {}): Promise<EmbeddedPostgres> => {
  const server = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line), ...settings });
  running.push(server);
  return server;
};

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  // A server that is killed under the connection is the point of some tests.
  client.on('error', () => undefined);
  await client.connect();
  return (await client.query<Record<string, unknown>>(text).finally(() => client.end())).rows;
};

/** Every process whose working directory is the cluster: the server and its children. */
const serverProcesses = (): number[] => readdirSync('/proc').map(Number).filter((pid) => {
  if (!Number.isInteger(pid)) return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(dataDir) && isRunning(pid);
  } catch {
    return false;
  }
});

const ended = async (pid: number): Promise<void> => {
  expect(await waitUntil(() => !isRunning(pid), 20_000)).toBe(true);
};

/** Another node process that starts the server and then does as `then` says; resolves with what it printed. */
const owner = async (then: string): Promise<{ child: ChildProcess; url: string; pid: number }> => {
  const script = `import { startEmbeddedPostgres } from ${JSON.stringify(source)};
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log: () => undefined });
    process.stdout.write(JSON.stringify({ url: server.url, pid: server.pid }) + '\\n', () => { ${then} });`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data') as [Buffer];
  return { child, ...JSON.parse(line.toString('utf8')) as { url: string; pid: number } };
};

const killedOwner = async (): Promise<{ url: string; pid: number }> => {
  const { child, ...server } = await owner('setInterval(() => undefined, 1_000)');
  child.kill('SIGKILL');
  await once(child, 'exit');
  return server;
};

const stranger = async (port = 0): Promise<{ server: Server; port: number; close: () => Promise<void> }> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => { sockets.forEach((socket) => socket.destroy()); server.close(); await once(server, 'close'); };
  return { server, port: (server.address() as AddressInfo).port, close };
};

/** Starts from a copy of a cluster that was stopped cleanly: initialising takes most of a test's time. */
const beginInitialised = (): void => { cpSync(seed, dataDir, { recursive: true }); };

beforeAll(async () => {
  seed = mkdtempSync(join(tmpdir(), 'tocsin-embedded-seed-'));
  await (await startEmbeddedPostgres({ dataDir: seed, log: () => undefined })).stop();
});

afterAll(() => rmSync(seed, { recursive: true, force: true }));

beforeEach(() => {
  lines = [];
  // mkdtemp gives 0700, as a home of root has.
  home = mkdtempSync(join(tmpdir(), 'tocsin-embedded-'));
  dataDir = join(home, '.tocsin');
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  const left = process.platform === 'linux' ? serverProcesses() : [];
  left.forEach((pid) => process.kill(pid, 'SIGKILL'));
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  expect(left).toEqual([]);
});

describe('A fresh data directory', () => {
  it('gets a durable Postgres 18 on the loopback only, in UTF8, with a password that only the owner can read', async () => {
    const { url, adopted, pid } = await start();
    const [row] = await query(url, `SELECT current_database() AS db, current_setting('server_version_num')::int / 10000 AS major,
      current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, current_setting('listen_addresses') AS listens,
      current_setting('server_encoding') AS encoding, current_setting('max_connections')::int AS connections,
      current_setting('unix_socket_directories') AS sockets, 'b' < 'A' AS dictionary_order, upper('é') AS upper`);
    expect(row).toEqual({ db: 'tocsin', major: 18, fsync: 'on', commit: 'on', listens: '127.0.0.1', encoding: 'UTF8', connections: 100, sockets: '', dictionary_order: false, upper: 'É' });
    expect(adopted).toBe(false);
    expect(statSync(join(dataDir, 'postgres-password')).mode & 0o777).toBe(0o600);
    expect(isRunning(pid)).toBe(true);
    await expect(query(url.replace(/:[0-9a-f]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect(lines.join('\n')).not.toContain(new URL(url).password);
  });

  onLinux('leaves no process after stop, keeps what was written, and takes the same password again', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    await first.stop();
    expect(serverProcesses()).toEqual([]);
    const second = await start();
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  it('is initialised anew where a kill left it half done, and what the kill left is removed', async () => {
    mkdirSync(join(dataDir, 'postgres.new-abc', 'cluster'), { recursive: true });
    mkdirSync(join(dataDir, 'postgres'));
    writeFileSync(join(dataDir, 'postgres-password'), '');
    const { url } = await start();
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres-password', 'postgres.log']);
  });

  it('is never emptied: a folder with something else in it, or of another version, is refused by name', async () => {
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'diary.txt'), 'dear diary');
    await expect(start()).rejects.toThrow(/is not empty and holds no Postgres cluster/);
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '15\n');
    await expect(start()).rejects.toThrow(/written by Postgres 15/);
    expect(existsSync(join(dataDir, 'postgres', 'diary.txt'))).toBe(true);
  });
});

describe('A Postgres left behind', () => {
  beforeEach(beginInitialised);

  it('by a killed owner is adopted with its data, and stopped by the new owner', async () => {
    const left = await killedOwner();
    await query(left.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    const server = await start();
    expect(server).toMatchObject({ adopted: true, pid: left.pid, url: left.url });
    expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await server.stop();
    expect(isRunning(left.pid)).toBe(false);
  });

  it('that does not answer is stopped and started anew, with its data', async () => {
    const left = await killedOwner();
    await query(left.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    process.kill(left.pid, 'SIGSTOP');
    const server = await start();
    expect(server.adopted).toBe(false);
    expect(isRunning(left.pid)).toBe(false);
    expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  });

  it('that no longer takes our password, or sits on another port than wanted, is stopped and started anew', async () => {
    const left = await killedOwner();
    rmSync(join(dataDir, 'postgres-password'));
    const renewed = await start();
    expect(renewed.adopted).toBe(false);
    expect(isRunning(left.pid)).toBe(false);
    expect(await query(renewed.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    const probe = await stranger();
    await probe.close();
    const moved = await start({ port: probe.port });
    expect(new URL(moved.url).port).toBe(String(probe.port));
    expect(isRunning(renewed.pid)).toBe(false);
  });

  it('recovers what was committed after it was itself killed', async () => {
    let told = (): void => undefined;
    const unexpected = new Promise<void>((resolve) => { told = resolve; });
    const first = await start({ onUnexpectedExit: told });
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    process.kill(first.pid, 'SIGKILL');
    await unexpected;
    const second = await start({ port: Number(new URL(first.url).port) });
    expect(second.adopted).toBe(false);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  });

  onLinux('only as a pid file, whose pid is free or another program\'s now, does not hinder and harms nobody', async () => {
    const first = await start();
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
    const content = readFileSync(pidFile, 'utf8');
    await first.stop();
    writeFileSync(pidFile, content);
    const second = await start();
    expect(second.adopted).toBe(false);
    await second.stop();
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore' });
    writeFileSync(pidFile, content.replace(/^\d+/, String(bystander.pid)));
    const third = await start();
    expect(third.adopted).toBe(false);
    expect(isRunning(bystander.pid as number)).toBe(true);
    bystander.kill();
  });
});

describe('The owner', () => {
  beforeEach(beginInitialised);

  it('that ends by an uncaught exception takes its Postgres along', async () => {
    const { child, pid } = await owner("throw new Error('uncaught')");
    await once(child, 'exit');
    await ended(pid);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  it('is not kept alive by its Postgres, which runs in a process group of its own', async () => {
    const { child, pid } = await owner('');
    if (process.platform === 'linux') expect(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[2]).toBe(String(pid));
    const [code] = await once(child, 'exit') as [number];
    expect(code).toBe(0);
    await ended(pid);
  });
});

describe('Where something is in the way', () => {
  beforeEach(beginInitialised);

  it('a taken port is named, and open file modes are closed again', async () => {
    const first = await start();
    await first.stop();
    chmodSync(join(dataDir, 'postgres'), 0o755);
    chmodSync(join(dataDir, 'postgres-password'), 0o644);
    const other = await stranger();
    await expect(start({ port: other.port })).rejects.toThrow(`Port ${other.port} on 127.0.0.1 is taken`);
    await other.close();
    await start();
    expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'postgres-password')).mode & 0o777).toBe(0o600);
  });

  asRoot('and user namespaces are off, root runs it as another user, in a closed folder and in an open one', async () => {
    const closed = await start({ identityKinds: ['other-user', 'capability'] });
    expect(lines.join()).toContain('(capability)');
    await closed.stop();
    chmodSync(home, 0o755);
    const open = await start({ identityKinds: ['other-user'] });
    expect(await query(open.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    expect(statSync(join(dataDir, 'postgres-password')).uid).toBe(0);
    await open.stop();
    await expect(start({ identityKinds: [] })).rejects.toThrow(/run Tocsin as an ordinary user.*DATABASE_URL/);
  });
});
