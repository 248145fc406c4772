import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RetryOutcome } from '../../shared/delivery/retry-attempt.ts';
import type { Answer, Asked, Gate, Held, PartSettings, Told } from './messages.ts';

type Kind = Told['told'];
type Of<K extends Kind> = Extract<Told, { told: K }>;

/** A process of the product, as its test sees it. */
export interface Racer {
  readonly pid: number;
  start: (...parts: PartSettings[]) => Promise<void>;
  stopParts: () => Promise<void>;
  gate: (...gates: Gate[]) => Promise<void>;
  release: () => Promise<void>;
  /** Sets its clock, which stands still otherwise. */
  clock: (at: number) => Promise<void>;
  /** An operator's retry in this process. */
  retry: (attempt: string, by: { actor: string; requestId: string }) => Promise<RetryOutcome>;
  /** The first thing of that kind that it told or will tell, and that fits. */
  tells: <K extends Kind>(kind: K, fits: (told: Of<K>) => boolean) => Promise<Of<K>>;
  /** The n-th append of that event that was held. */
  holds: (eventId: string, nth?: number) => Promise<Held>;
  /** Everything of that kind so far. */
  told: <K extends Kind>(kind: K) => Of<K>[];
  signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
  kill: () => Promise<void>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Longer than a busy machine takes; starting a process takes it longest. */
const READY_WITHIN_MS = 100_000;
/** A lost lock may take a minute to be found by itself. */
const TELLS_WITHIN_MS = 150_000;
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG'];

/** Starts a process and resolves once it is ready. @throws where it ends before. */
export const startRacer = async (env: Record<string, string>): Promise<Racer> => {
  const inherited = Object.fromEntries(INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name] as string]])));
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/races/racer-main.ts'], { cwd: ROOT, env: { ...inherited, ...env }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const heard: Told[] = [];
  const listeners = new Set<() => void>();
  let over = false;
  const look = (): void => { for (const listener of [...listeners]) listener(); };
  child.on('message', (told: Told) => {
    heard.push(told);
    look();
  });
  child.on('exit', () => {
    over = true;
    look();
  });
  // A process that was stopped does not notice that its test has gone.
  const kill = (): void => { if (!over) child.kill('SIGKILL'); };
  process.once('exit', kill);

  const nth = <K extends Kind>(kind: K, fits: (told: Of<K>) => boolean, count: number): Promise<Of<K>> => new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      const last = heard.filter(({ told }) => told !== 'answer').slice(-6).map((told) => JSON.stringify(told));
      reject(new Error(`process ${child.pid} ${why} ${kind}; last it told: ${last.join(' ')}`));
    };
    const end = (run: () => void): void => {
      clearTimeout(limit);
      listeners.delete(listener);
      run();
    };
    const listener = (): void => {
      const found = heard.filter((told): told is Of<K> => told.told === kind && fits(told as Of<K>))[count - 1];
      if (found) end(() => resolve(found));
      else if (over) end(() => fail('ended before it told'));
    };
    const limit = setTimeout(() => end(() => fail('has not told')), kind === 'ready' ? READY_WITHIN_MS : TELLS_WITHIN_MS);
    listeners.add(listener);
    listener();
  });
  let asked = 0;
  const ask = async (what: Asked): Promise<Answer> => {
    asked += 1;
    const id = asked;
    child.send({ id, asked: what });
    const told = await Promise.race([nth('answer', (one) => one.id === id, 1), nth('failed', (one) => one.id === id, 1)]);
    if (told.told === 'failed') throw new Error(told.error);
    return told.answer;
  };

  await nth('ready', () => true, 1);
  return {
    pid: child.pid as number,
    start: async (...parts) => { for (const part of parts) await ask({ ask: 'start', part }); },
    stopParts: async () => { await ask({ ask: 'stop-parts' }); },
    gate: async (...gates) => { await ask({ ask: 'gate', gates }); },
    release: async () => { await ask({ ask: 'release' }); },
    clock: async (at) => { await ask({ ask: 'clock', at }); },
    retry: async (attempt, by) => (await ask({ ask: 'retry', attempt, ...by })).retried as RetryOutcome,
    tells: (kind, fits) => nth(kind, fits, 1),
    holds: (eventId, count = 1) => nth('held', (told) => told.eventId === eventId, count),
    told: (kind) => heard.filter((told): told is Of<typeof kind> => told.told === kind),
    signal: (name) => { child.kill(name); },
    kill: async () => {
      kill();
      await ended;
      process.off('exit', kill);
    },
  };
};
