import type { ChildProcess } from 'node:child_process';
import { OWNER_ROLE, prepareCluster, type Cluster } from './embedded-cluster.ts';
import type { IdentityKind } from './embedded-identity.ts';
import { launchOurs } from './embedded-launch.ts';
import { stopPostmaster, takeOver } from './embedded-postmaster.ts';
import { servesCluster } from './embedded-process.ts';
import { askServer } from './embedded-session.ts';

export interface EmbeddedPostgresSettings {
  /** `$TOCSIN_DATA_DIR`; the caller holds its owner lock. */
  dataDir: string;
  /** TCP port on 127.0.0.1; 0 or absent means any free one. */
  port?: number;
  /** Takes one line of progress, without secrets. */
  log: (line: string) => void;
  /** Called when the server ends although nobody called `stop`. Not called for an adopted server. */
  onUnexpectedExit?: () => void;
  /** Server settings for tests only, such as `fsync=off`; the product keeps every commit durable. */
  extraOptions?: string[];
  /** Limits the ways of running that are tried, for tests. */
  identityKinds?: readonly IdentityKind[];
}

export interface EmbeddedPostgres {
  /** `postgres://tocsin:…@127.0.0.1:PORT/tocsin`, the owner's URL. */
  url: string;
  /** True when the server was already running, left behind by an earlier owner. */
  adopted: boolean;
  /** The postmaster. */
  pid: number;
  /** Shuts down, and returns when no process of the server is left. May be called again. */
  stop(): Promise<void>;
}

const ensureDatabase = async (cluster: Cluster, port: number): Promise<void> => {
  const login = { port, user: OWNER_ROLE, password: cluster.password, database: 'postgres' };
  const found = await askServer(login, `SELECT 1 FROM pg_database WHERE datname = '${OWNER_ROLE}'`);
  if (found.length === 0) await askServer(login, `CREATE DATABASE ${OWNER_ROLE}`, 30_000);
};

interface Server { pid: number; port: number; child: ChildProcess | null }

const handleOf = (cluster: Cluster, server: Server, settings: EmbeddedPostgresSettings): EmbeddedPostgres => {
  const { pid, port, child } = server;
  // The last word of a process that ends by an exception or by process.exit: no time to wait, but time to ask.
  const stopOnExit = (): void => {
    try {
      if (servesCluster(pid, cluster.path)) process.kill(pid, 'SIGINT');
    } catch { /* Nobody is left to be told; the next owner adopts or stops it. */ }
  };
  process.once('exit', stopOnExit);
  let stopping: Promise<void> | null = null;
  child?.unref();
  child?.once('exit', () => {
    process.removeListener('exit', stopOnExit);
    if (stopping === null) settings.onUnexpectedExit?.();
  });
  const stop = async (): Promise<void> => {
    await stopPostmaster(pid, cluster.path);
    process.removeListener('exit', stopOnExit);
    settings.log('postgres: stopped');
  };
  return {
    url: `postgres://${OWNER_ROLE}:${cluster.password}@127.0.0.1:${port}/${OWNER_ROLE}`,
    adopted: child === null,
    pid,
    stop: () => (stopping ??= stop()),
  };
};

/**
 * Starts Postgres on the data directory, or adopts the one that a killed owner left running there, and makes sure that
 * the database is there. Returns when it takes connections. Throws, saying what to do, where it cannot run here.
 */
export const startEmbeddedPostgres = async (settings: EmbeddedPostgresSettings): Promise<EmbeddedPostgres> => {
  const startedAt = performance.now();
  const cluster = await prepareCluster(settings.dataDir, settings.identityKinds);
  const left = await takeOver(cluster, { port: settings.port ?? 0, durable: settings.extraOptions === undefined });
  const launched = left ? null : await launchOurs(cluster, { port: settings.port ?? 0, extraOptions: settings.extraOptions ?? [], log: settings.log });
  const server = launched ? { pid: launched.child.pid as number, ...launched } : { pid: left?.pid as number, port: left?.port as number, child: null };
  const handle = handleOf(cluster, server, settings);
  try {
    await ensureDatabase(cluster, server.port);
  } catch (error) {
    await handle.stop();
    throw error;
  }
  settings.log(`postgres: ${left ? 'adopted' : 'ready'} on port ${server.port} after ${Math.round(performance.now() - startedAt)} ms (${cluster.identity.kind})`);
  return handle;
};
