import { join } from 'node:path';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import type { ChildService, Ended } from '../audit/child-service.ts';
import { startService, startedEvent } from '../audit/child-service.ts';
import { PROGRAMS } from '../audit/fleet.ts';
import { until } from '../audit/waiting.ts';
import type { ServiceName, Slot } from './chaos-plan.ts';
import { SERVICES } from './chaos-plan.ts';

/** One kill -9: whose, when, and at which point where it came by itself. Instants in ms since the epoch. */
export interface Death { service: ServiceName; pid: number; startedAt: number; diedAt: number; point: FaultPoint | null }

export interface SupervisorSettings {
  folder: string;
  env: Record<string, string>;
  /** Where the sources of the services are; the repository itself where absent. */
  root?: string;
}

export interface Supervisor {
  /** Resolves once every service is up. */
  whenUp: () => Promise<void>;
  /** Whether it has been up for a while, with work in hand, and is not stopped. */
  isBusy: (slot: Slot) => boolean;
  /**
   * Holds a process still and asks `isTheMoment` about its pid: kills it where that is so (true), lets it go on where it is not
   * (false). Null where nothing runs there just now.
   */
  killIf: (slot: Slot, then: { point: FaultPoint; pass: number } | null, isTheMoment: (pid: number) => Promise<boolean>) => Promise<boolean | null>;
  /** kill -9; false where nothing runs there just now. Its successor is armed with `then`. */
  kill: (slot: Slot, then: { point: FaultPoint; pass: number } | null) => boolean;
  /** SIGSTOP for so long; false where nothing runs there just now. */
  stop: (slot: Slot, forMs: number) => boolean;
  /** Whether a successor still lives that is to die at its point. */
  hasArmed: () => boolean;
  /** kill -9 of all that are armed and still live, so that nothing dies by itself any more. */
  disarm: () => void;
  intakeUrls: () => string[];
  deaths: Death[];
  /** Ends that nobody asked for: a service that was up and ended by itself. */
  collapses: string[];
  counts: { starts: number; stops: number };
  logPaths: string[];
  /** From now on nothing is started any more. */
  abandon: () => void;
  /** SIGTERM for all, once each is up; resolves to how they ended, by name. */
  end: () => Promise<Record<string, Ended>>;
}

interface Held { slot: Slot; name: string; process: ChildService; startedAt: number; point: FaultPoint | null; isUp: boolean; upAt: number; url: string | null; killed: boolean; stopped: boolean }

const RESTART_AFTER_MS = 300;
const UP_WITHIN_MS = 300_000;
/** A worker needs about that long to take up what waited for it. */
const BUSY_AFTER_MS = 1_500;
const ARMED_MS = 8_000;

/** Keeps two copies of each service running, as a supervisor would: whatever ends is started again, and killed at the script's word. */
export const startSupervisor = (settings: SupervisorSettings): Supervisor => {
  const held = new Map<string, Held>();
  const armed = new Map<string, { point: FaultPoint; pass: number }>();
  const deaths: Death[] = [];
  const collapses: string[] = [];
  const counts = { starts: 0, stops: 0 };
  let over = false;
  const nameOf = ({ service, copy }: Slot): string => `${service}.${copy}`;
  const logPathOf = (name: string): string => join(settings.folder, `${name}.log`);

  const onEnd = (one: Held, { code, signal }: Ended): void => {
    const { slot: { service }, process: { pid }, startedAt, point } = one;
    if (signal === 'SIGKILL') deaths.push({ service, pid, startedAt, diedAt: Date.now(), point: one.killed ? null : point });
    else if (one.isUp && !over) collapses.push(`${one.name} ended by itself with ${String(code ?? signal)}`);
    // One that did not get up may have found the database away: it is started again, and the end of the run waits for it.
    if (!over) setTimeout(() => start(one.slot), RESTART_AFTER_MS);
  };
  const start = (slot: Slot): void => {
    if (over) return;
    const name = nameOf(slot);
    const kill = armed.get(name);
    armed.delete(name);
    const { program, env } = PROGRAMS[slot.service];
    const process = startService({
      name, program, logPath: logPathOf(name), readyIn: startedEvent, apart: true, ...(settings.root === undefined ? {} : { root: settings.root }),
      env: {
        ...settings.env, ...env, CHECKPOINT_FILE: join(settings.folder, `checkpoints.${name}.jsonl`),
        ...(kill ? { TOCSIN_KILL_AT: `${kill.point}:${kill.pass}` } : {}),
      },
    });
    const one: Held = { slot, name, process, startedAt: Date.now(), point: kill?.point ?? null, isUp: false, upAt: 0, url: null, killed: false, stopped: false };
    held.set(name, one);
    counts.starts += 1;
    void process.ready.then((told) => {
      one.isUp = told !== null;
      one.upAt = performance.now();
      one.url = told?.['url'] === undefined ? null : String(told['url']);
    });
    void process.ended.then((ended) => onEnd(one, ended));
  };
  // A killed one still counts as running until its end is heard of.
  const isThere = (one: Held): boolean => one.process.isRunning() && !one.killed;
  const running = (slot: Slot): Held | null => {
    const one = held.get(nameOf(slot));
    return one && isThere(one) ? one : null;
  };
  const killOne = (one: Held, then: { point: FaultPoint; pass: number } | null): void => {
    if (then) armed.set(one.name, then);
    one.killed = true;
    void one.process.kill();
  };
  const allUp = (): boolean => [...held.values()].every((one) => one.isUp && !one.stopped && isThere(one));

  const whenUp = async (): Promise<void> => { await until('every service to be up', () => Promise.resolve(allUp() ? true : null), { withinMs: UP_WITHIN_MS }); };
  const slots = SERVICES.flatMap((service) => ([1, 2] as const).map((copy): Slot => ({ service, copy })));
  for (const slot of slots) start(slot);
  return {
    deaths, collapses, counts, logPaths: slots.map((slot) => logPathOf(nameOf(slot))),
    whenUp,
    isBusy: (slot) => {
      const one = running(slot);
      // One that is to die at its point gets the time to come to it.
      return one !== null && one.isUp && !one.stopped && performance.now() - one.upAt >= (one.point === null ? BUSY_AFTER_MS : ARMED_MS);
    },
    killIf: async (slot, then, isTheMoment) => {
      const one = running(slot);
      if (!one || one.stopped) return null;
      one.process.signal('SIGSTOP');
      const itIs = await isTheMoment(one.process.pid);
      if (itIs) killOne(one, then);
      else one.process.signal('SIGCONT');
      return itIs;
    },
    kill: (slot, then) => {
      const one = running(slot);
      if (!one) return false;
      killOne(one, then);
      return true;
    },
    stop: (slot, forMs) => {
      const one = running(slot);
      if (!one || one.stopped) return false;
      one.stopped = true;
      counts.stops += 1;
      void one.process.pauseFor(forMs).then(() => { one.stopped = false; });
      return true;
    },
    hasArmed: () => armed.size > 0 || [...held.values()].some((one) => one.point !== null && isThere(one)),
    disarm: () => {
      armed.clear();
      for (const one of held.values()) {
        if (one.point === null || !isThere(one)) continue;
        one.killed = true;
        void one.process.kill();
      }
    },
    intakeUrls: () => [...held.values()].flatMap((one) => (one.isUp && one.url !== null && isThere(one) ? [one.url] : [])),
    abandon: () => { over = true; },
    end: async () => {
      // One that still starts does not listen to signals yet.
      await whenUp();
      over = true;
      return Object.fromEntries(await Promise.all([...held.values()].map(async (one) => [one.name, await one.process.stop()] as const)));
    },
  };
};
