import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../shared/http/free-port.ts';

export interface TestRedis { url: string; stop(): Promise<void> }


const answersPing = async (port: number): Promise<boolean> => {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    const [answer] = await once(socket, 'data') as [Buffer];
    return answer.toString('utf8').startsWith('+PONG');
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

const becomesReady = async (child: ChildProcess, port: number): Promise<boolean> => {
  const ended = once(child, 'exit').then(() => 'ended' as const, () => 'ended' as const);
  for (let round = 0; round < 200; round += 1) {
    if (await answersPing(port)) return true;
    if (await Promise.race([ended, pause(25)]) === 'ended') return false;
  }
  return false;
};

/**
 * Starts the `redis-server` of the PATH on a free port, without persistence and as BullMQ wants it (noeviction). Null
 * where there is none. `databases` is raised so that tests can keep apart from each other.
 */
export const startTestRedis = async (): Promise<TestRedis | null> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-redis-'));
  const port = await freePort();
  const child = spawn('redis-server', [
    '--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no',
    '--maxmemory-policy', 'noeviction', '--databases', '256', '--hz', '100',
  ], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.ref();
      child.kill('SIGTERM');
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  };
  if (!await becomesReady(child, port)) {
    await stop();
    return null;
  }
  child.unref();
  return { url: `redis://127.0.0.1:${port}`, stop };
};
