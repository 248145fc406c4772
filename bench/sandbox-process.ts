import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { atTheEnd } from '../test/audit/child-service.ts';

export interface Receipts { receipts: [attemptKey: string, receivedAt: number][]; duplicates: number }
export interface SandboxProcess {
  pid: number; http: string; smtp: string;
  /** What was accepted since it was last asked, and forgets it. */
  take: () => Promise<Receipts>;
}

/** Starts the stand-in as a process of its own. */
export const startSandboxProcess = async (tree: string): Promise<SandboxProcess> => {
  const child = fork(join(tree, 'bench/sandbox-main.js'), { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  atTheEnd(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await (child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined);
  });
  const [ready] = await once(child, 'message') as [{ http: string; smtp: string }];
  const waiting = new Map<number, (told: Receipts) => void>();
  child.on('message', (told: Receipts & { id: number }) => { waiting.get(told.id)?.(told); waiting.delete(told.id); });
  let turn = 0;
  return {
    pid: child.pid as number, http: ready.http, smtp: ready.smtp,
    take: () => new Promise((resolve) => {
      turn += 1;
      waiting.set(turn, resolve);
      child.send({ id: turn, ask: 'receipts' });
    }),
  };
};
