import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, fstatSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { within } from './waiting.ts';

export interface ServiceSettings {
  name: string;
  /** Relative to the repository. */
  program: string;
  args?: string[];
  /** The program is compiled already. */
  compiled?: boolean;
  env: Record<string, string>;
  /** Everything the process says goes there. */
  logPath: string;
  /** Where the program's sources are: a changed copy of the repository. */
  root?: string;
  /**
   * Writes straight into its log, and in a session of its own: its talk costs the audit nothing, and a Ctrl-C is the audit's
   * alone. It is ready once `readyIn` finds it in the log.
   */
  apart?: boolean;
  /** Finds in a line of its output that it is ready, and what it says about itself; null where the line says nothing of that. */
  readyIn: (line: string) => Record<string, unknown> | null;
}

export interface Ended { code: number | null; signal: NodeJS.Signals | null }

export interface ChildService {
  readonly name: string;
  readonly pid: number;
  /** Resolves to what it says of itself once it is ready, or to null where it ends before. */
  readonly ready: Promise<Record<string, unknown> | null>;
  readonly ended: Promise<Ended>;
  isRunning: () => boolean;
  kill: () => Promise<Ended>;
  /** Sends it a signal, where it still runs. */
  signal: (name: NodeJS.Signals) => void;
  /** Stops it in its tracks for so long, as a machine that sleeps does. */
  pauseFor: (ms: number) => Promise<void>;
  /** SIGTERM; a kill where that takes too long. */
  stop: () => Promise<Ended>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What a service must not inherit: settings of whoever runs the audit. */
const OURS = /^(TOCSIN_|TWILIO_|SMTP_|MAIL_|DATABASE_|REDIS_|SANDBOX_|INTAKE_|DASHBOARD_|NODE_OPTIONS|LOG_LEVEL|CHANNEL|JEST_|NODE_ENV)/;
const STOP_WITHIN_MS = 20_000;

const inherited = (): Record<string, string> => Object.fromEntries(Object.entries(process.env).filter(([name, value]) => value !== undefined && !OURS.test(name)) as [string, string][]);
const alive = new Set<ChildService>();

const readyFrom = (stdout: Readable, { readyIn }: ServiceSettings, { note, ended }: { note: (line: string) => void; ended: Promise<unknown> }): Promise<Record<string, unknown> | null> => new Promise((resolve) => {
  createInterface({ input: stdout }).on('line', (line) => {
    note(line);
    const told = readyIn(line);
    if (told) resolve(told);
  });
  void ended.then(() => resolve(null));
});

const LOOK_EVERY_MS = 100;

/** Follows a log from `offset` on until a line says that the service is ready; null where it ends before. */
const followUntilReady = async (settings: ServiceSettings, offset: number, ended: Promise<unknown>): Promise<Record<string, unknown> | null> => {
  const file = await open(settings.logPath, 'r');
  let isOver = false;
  void ended.then(() => { isOver = true; });
  let text = '';
  try {
    for (let at = offset; !isOver;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(65_536), 0, 65_536, at);
      at += bytesRead;
      text += buffer.subarray(0, bytesRead).toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const told = settings.readyIn(line);
        if (told) return told;
      }
      if (bytesRead === 0) await wait(LOOK_EVERY_MS);
    }
    return null;
  } finally {
    await file.close();
  }
};

/** Starts one program of the product as a process of its own. */
export const startService = (settings: ServiceSettings): ChildService => {
  const note = (line: string): void => appendFileSync(settings.logPath, `${line}\n`);
  const log = settings.apart === true ? openSync(settings.logPath, 'a') : null;
  const logFrom = log === null ? 0 : fstatSync(log).size;
  const child = spawn(process.execPath, [...settings.compiled === true ? [] : ['--import', 'tsx'], settings.program, ...settings.args ?? []], {
    cwd: settings.root ?? ROOT, env: { ...inherited(), ...settings.env }, stdio: log === null ? ['ignore', 'pipe', 'pipe'] : ['ignore', log, log], detached: log !== null,
  });
  if (log !== null) closeSync(log);
  note(`--- ${settings.name} pid ${child.pid} ${new Date().toISOString()} ${settings.env['TOCSIN_KILL_AT'] ?? ''}`);
  if (child.stderr) createInterface({ input: child.stderr }).on('line', note);
  const ended = once(child, 'exit').then(([code, signal]: unknown[]): Ended => {
    alive.delete(service);
    note(`--- ${settings.name} pid ${child.pid} ended ${String(code ?? signal)}`);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const ready = child.stdout ? readyFrom(child.stdout, settings, { note, ended }) : followUntilReady(settings, logFrom, ended);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const kill = (): Promise<Ended> => {
    if (isRunning()) child.kill('SIGKILL');
    return ended;
  };
  const service: ChildService = {
    name: settings.name, pid: child.pid as number, ready, ended, isRunning, kill,
    signal: (name) => { if (isRunning()) child.kill(name); },
    pauseFor: async (ms) => {
      child.kill('SIGSTOP');
      await wait(ms);
      child.kill('SIGCONT');
    },
    stop: async () => {
      if (isRunning()) child.kill('SIGTERM');
      return (await within(STOP_WITHIN_MS, ended)) ?? kill();
    },
  };
  alive.add(service);
  return service;
};

const cleanups = new Set<() => Promise<unknown>>();

/** Says what else has to be stopped when an audit ends, or is ended. */
export const atTheEnd = (cleanup: () => Promise<unknown>): void => { cleanups.add(cleanup); };

/** Leaves no process of an audit behind, however it ended: kills the services, then stops what they worked on. */
export const cleanUp = async (): Promise<void> => {
  await Promise.all([...alive].map((service) => service.kill()));
  const todo = [...cleanups];
  cleanups.clear();
  await Promise.allSettled(todo.map((cleanup) => cleanup()));
};

const parsed = (line: string): Record<string, unknown> | null => {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
};

/** The line by which a service of the Procfile says that it is ready. */
export const startedEvent = (line: string): Record<string, unknown> | null => {
  const told = parsed(line);
  return told?.['event'] === 'service.started' && told['pid'] !== undefined ? told : null;
};

/** The line by which the sandbox says that it is ready. */
export const sandboxReady = (line: string): Record<string, unknown> | null => {
  const told = parsed(line);
  return told?.['ready'] === true ? told : null;
};

/** The line by which the standalone says that it is ready. */
export const standaloneReady = (line: string): Record<string, unknown> | null => (line.startsWith('Tocsin is ready') ? { ready: true } : null);
