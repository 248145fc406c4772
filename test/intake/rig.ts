import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { startIntake } from '../../services/intake/intake.ts';
import type { RunningIntake } from '../../services/intake/intake.ts';
import type { IntakeConfig } from '../../shared/config/intake-config.ts';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { insertApiKey } from '../../shared/ledger/api-keys.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { publishVersions } from '../../shared/ledger/versions.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { REDACT_PATHS } from '../../shared/security/redact.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const shipped = (folder: string): string => fileURLToPath(new URL(`../../${folder}`, import.meta.url));

export const roster = loadRoster(shipped('policies'));
export const DASHBOARD_URL = 'https://dashboard.example';

export interface Rig {
  engine: Engine;
  log: Logger;
  /** Everything logged so far, as text. */
  logged: () => string;
  database: TestDatabase;
  /** The key ring, as a command line would be given it. */
  keys: string;
  /** What was enqueued since the start. */
  enqueued: () => number;
  start: (config?: Partial<IntakeConfig>) => Promise<RunningIntake>;
  createKey: (tenant: string) => Promise<string>;
  close: () => Promise<void>;
}

/** An engine on a database of its own, with the shipped versions published, and the way to start intakes on it. */
export const createRig = async (through: (url: string) => Promise<string> = async (url) => url, connectTimeoutMs = 1_000): Promise<Rig> => {
  const database = await createTestDatabase();
  const lines: string[] = [];
  const destination = new Writable({ write: (chunk: Buffer, _encoding, done) => { lines.push(chunk.toString()); done(); } });
  const log = createLogger({ level: 'debug', service: 'test', redactPaths: REDACT_PATHS, destination });
  const db = openDatabase({ url: await through(database.url), poolSize: 4, connectTimeoutMs });
  let count = 0;
  const keys = generateKeyRingText();
  const ring = parseKeyRing(keys);
  const artifactDir = await mkdtemp(join(tmpdir(), 'rig-artifacts-'));
  const engine = createEngine({
    db, ring, artifacts: createFileArtifactStore(artifactDir, ring), carriers: CARRIERS, sender: { sms: '+12025550100', email: 'tocsin@example.com' }, log, now: Date.now,
    onEnqueued: () => { count += 1; },
  });
  const templates = loadTemplates(shipped('templates')).map((definition) => ({ name: definition.name, version: definition.version, definition }));
  await publishVersions(db, { policies: loadPolicies(shipped('policies')), templates, now: Date.now() });
  const running: RunningIntake[] = [];
  return {
    engine, log, database, keys, logged: () => lines.join(''), enqueued: () => count,
    start: async (config = {}) => {
      const intake = await startIntake({
        engine, roster, dashboardUrl: DASHBOARD_URL, log,
        config: { host: '127.0.0.1', port: 0, publicUrl: null, demo: true, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 }, ...config },
      });
      running.push(intake);
      return intake;
    },
    createKey: async (tenant) => {
      const key = generateApiKey();
      await insertApiKey(db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant, label: 'test', now: Date.now() });
      return key.text;
    },
    close: async () => {
      await Promise.all(running.map((one) => one.close()));
      await db.close();
      await database.drop();
      await rm(artifactDir, { recursive: true, force: true });
    },
  };
};

export interface Answer { status: number; headers: Headers; text: string; body: Record<string, unknown> }

/** One request; `body` is the JSON of the answer where it is JSON. Redirects are not followed. */
export const ask = async (url: string, init: RequestInit = {}): Promise<Answer> => {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const text = await response.text();
  const json = /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) as Record<string, unknown> : {} };
};

export const postJson = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(url, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) });

export const postForm = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(url, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers }, body: new URLSearchParams(fields).toString() });

/** A ticket like any other; another player each time, so that no limit is met by accident. */
let players = 0;
export const aTicket = (changes: Record<string, unknown> = {}): Record<string, unknown> => {
  players += 1;
  return { category: 'payment_lockout', message: 'I am locked out', region: 'US', locale: 'en-US', player_ref: `p-${players}`, ...changes };
};

/** A door to the database that can be shut: connections through it are cut, new ones refused. */
export const createDoor = async (url: string): Promise<{ url: string; shut: () => Promise<void>; reopen: () => Promise<void> }> => {
  const target = new URL(url);
  const sockets = new Set<net.Socket>();
  const server = net.createServer((inside) => {
    const outside = net.connect(Number(target.port), target.hostname);
    for (const [socket, other] of [[inside, outside], [outside, inside]] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => { sockets.delete(socket); other.destroy(); });
      socket.pipe(other);
    }
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return {
    url: through.href,
    shut: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    reopen: () => listen(port),
  };
};
