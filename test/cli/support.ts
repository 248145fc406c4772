import type { Environment } from '../../shared/config/environment.ts';
import type { Io } from '../../services/cli/io.ts';
import { runCli } from '../../services/cli/run-cli.ts';

export interface Ran { code: number; out: string; err: string }
export interface Setting {
  env?: Environment;
  stdin?: string;
  tty?: boolean;
  columns?: number;
  /** Called instead of waiting; what it does happens between two refreshes. */
  wait?: (round: number, stop: () => void) => Promise<void> | void;
}

/** Runs one command line as a function, with everything it may touch injected. */
export const run = async (line: string[], { env = {}, stdin = '', tty = false, columns = 80, wait }: Setting = {}): Promise<Ran> => {
  const texts = { out: '', err: '' };
  const controller = new AbortController();
  let round = 0;
  const output = (name: 'out' | 'err') => ({ write: (text: string) => { texts[name] += text; }, isTTY: tty, columns: () => columns });
  const io: Io = {
    out: output('out'), err: output('err'), readInput: async () => stdin, env, signal: controller.signal,
    wait: async () => {
      round += 1;
      if (round > 50 || !wait) throw new Error('nothing more happens in this test');
      await wait(round, () => controller.abort());
    },
  };
  const code = await runCli(line, io);
  return { code, ...texts };
};
