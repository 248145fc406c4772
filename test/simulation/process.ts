import type { Faults } from './faults.ts';
import type { Scheduler } from './scheduler.ts';
import type { Seeded } from '../audit/seeded.ts';
import { ConstraintViolation } from './memory-ledger.ts';

/** A process of the deployment: it can die, be stopped, and have a clock of its own. One object per life. */
export interface Process {
  readonly name: string;
  readonly role: 'intake' | 'sms' | 'email' | 'coordinator';
  readonly index: number;
  readonly life: number;
  alive: boolean;
  /** Stopped until then; what reaches it meanwhile waits. */
  stoppedUntil: number;
  skewMs: number;
  /** Its open transactions; they end with it. */
  readonly transactions: Set<object>;
}

/** The database or its connection is away; recognised by the code, as with the real driver. */
export class Away extends Error {
  readonly code = 'ECONNREFUSED';
}

export interface Surroundings {
  scheduler: Scheduler;
  faults: Faults;
  latency: Seeded;
  trace: (text: string) => void;
  /** Says that a promise was broken. */
  report: (invariant: string, about: string) => void;
  /** Ends a process and has it started again later. */
  kill: (process: Process, restartAfterMs: number) => void;
  isDatabaseAway: () => boolean;
}

/** Goes on in the process at that instant, or once it is no longer stopped; never where it has died. */
export const goOn = ({ scheduler }: Surroundings, process: Process, run: () => void): void => {
  const arrive = (): void => {
    if (!process.alive) return;
    if (process.stoppedUntil > scheduler.now) scheduler.at(process.stoppedUntil + 1, arrive);
    else run();
  };
  arrive();
};

/** Strikes with what the plan has for this side of a boundary. */
export const strike = (around: Surroundings, process: Process, at: { boundary: string; side: 'before' | 'after' }): 'dead' | 'stopped' | 'answer-lost' | null => {
  const fault = around.faults.atBoundary(at.boundary, at.side);
  if (!fault) return null;
  around.trace(`${process.name} ${fault.kind} ${at.side} ${at.boundary}`);
  if (fault.kind === 'commit-answer-lost') return 'answer-lost';
  if (fault.kind === 'stop') {
    process.stoppedUntil = around.scheduler.now + fault.forMs;
    return 'stopped';
  }
  around.kill(process, fault.forMs);
  return 'dead';
};

const NEVER = <Value>(): Promise<Value> => new Promise<Value>(() => undefined);

/**
 * One call of a process to what lies outside it: the request travels, is carried out in one piece, and its answer travels
 * back. Each of the three is a step of the schedule, and the process may be gone at each. A dead process never hears of it.
 */
export const call = <Value>(around: Surroundings, process: Process, { boundary, of = 'database' }: { boundary: string; of?: 'database' | 'queue' }, statement: () => Value): Promise<Value> => {
  if (!process.alive) return NEVER<Value>();
  const { scheduler, latency } = around;
  return new Promise<Value>((resolve, reject) => {
    const answer = (run: () => void): void => scheduler.after(latency.between(0, 3), () => goOn(around, process, run));
    const arrive = (): void => {
      if (!process.alive) return;
      const before = strike(around, process, { boundary, side: 'before' });
      // Stopped with its request in hand: it leaves once the process goes on.
      if (before === 'stopped') goOn(around, process, carryOut);
      else if (before === null) carryOut();
    };
    const carryOut = (): void => {
      if (of === 'database' && around.isDatabaseAway()) return answer(() => reject(new Away('connection refused')));
      let outcome: { value: Value } | { error: unknown };
      try {
        outcome = { value: statement() };
      } catch (error) {
        outcome = { error };
        if (error instanceof ConstraintViolation) around.report('no append breaks a constraint of the ledger', error.constraint);
      }
      const after = strike(around, process, { boundary, side: 'after' });
      if (after === 'dead') return;
      answer(() => {
        if (after === 'answer-lost') reject(new Away('connection terminated'));
        else if ('error' in outcome) reject(outcome.error as Error);
        else resolve(outcome.value);
      });
    };
    scheduler.after(latency.between(0, 2), arrive);
  });
};

/** A timer of that process. */
export const waitIn = (around: Surroundings, process: Process, ms: number): Promise<void> =>
  new Promise((resolve) => { around.scheduler.after(ms, () => goOn(around, process, resolve)); });
