import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { addCoverage, noCoverage } from './coverage.ts';
import type { Coverage } from './coverage.ts';
import type { FocusName } from './focus.ts';

const MAIN = fileURLToPath(new URL('simulate-main.ts', import.meta.url));

interface PartSettings { from: number; runs: number; step: number; focus: FocusName | undefined; onProgress: (done: number, broken: number) => void }

const runPart = ({ from, runs, step, focus, onProgress }: PartSettings): Promise<Coverage> => new Promise((resolve, reject) => {
  const args = ['--import', 'tsx', MAIN, '--part', String(step), '--runs', String(runs), '--seed', String(from), ...(focus === undefined ? [] : ['--focus', focus])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let complaint = '';
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString(); });
  createInterface({ input: child.stderr }).on('line', (line) => {
    const [, done, broken] = /^(\d+) (\d+)$/.exec(line) ?? [];
    if (done === undefined) complaint += `${line}\n`;
    else onProgress(Number(done), Number(broken));
  });
  child.on('error', reject);
  child.on('close', (code) => {
    if (code === 0) resolve(JSON.parse(output) as Coverage);
    else reject(new Error(`a part of the simulation ended with ${code}\n${complaint}`));
  });
});

/** Runs the seeds `from`, `from + 1`, … in that many processes, which take turns at them, and adds up what they met. */
export const inProcesses = async ({ from, runs, processes, focus, onProgress }: { from: number; runs: number; processes: number; focus?: FocusName | undefined; onProgress: (done: number, broken: number) => void }): Promise<Coverage> => {
  const told = Array.from({ length: processes }, () => ({ done: 0, broken: 0 }));
  const parts = await Promise.all(told.map((mine, index) => runPart({
    from: from + index, runs: Math.floor((runs - index + processes - 1) / processes), step: processes, focus,
    onProgress: (done, broken) => {
      Object.assign(mine, { done, broken });
      onProgress(told.reduce((sum, one) => sum + one.done, 0), told.reduce((sum, one) => sum + one.broken, 0));
    },
  })));
  const sum = noCoverage();
  for (const part of parts) addCoverage(sum, part);
  return sum;
};
