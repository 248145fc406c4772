import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Environment } from '../../shared/config/environment.ts';
import { processEnvironment } from '../../shared/config/engine-config.ts';

/** A stream that text is written to. */
export interface Output {
  write: (text: string) => void;
  isTTY: boolean;
  /** Current width in columns; asked anew for every drawing, so that a resize is seen. */
  columns: () => number;
}

/** Everything a command may touch outside the network. Tests inject their own. */
export interface Io {
  out: Output;
  err: Output;
  /** All of standard input. */
  readInput: () => Promise<string>;
  /** Asks at the terminal for what must not be seen; absent where nobody sits there. */
  askSecret?: (question: string) => Promise<string>;
  env: Environment;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** Resolves after so many milliseconds, at once when the signal is aborted. */
  wait: (ms: number) => Promise<void>;
}

const outputOf = (stream: NodeJS.WriteStream): Output => ({
  write: (text) => { stream.write(text); },
  isTTY: stream.isTTY === true,
  // A terminal that does not know its width says 0.
  columns: () => (stream.isTTY ? stream.columns || 80 : 80),
});

/** From here on Ctrl-C and SIGTERM ask once to stop; a second one ends the process the usual way. */
const stopSignal = (): AbortSignal => {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());
  return controller.signal;
};

/** Reads a line whose letters are not shown. */
const askAtTerminal = async (question: string): Promise<string> => {
  process.stderr.write(question);
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true });
  // Ctrl-C at a question leaves it unanswered, as at any other time.
  lines.once('SIGINT', () => process.exit(130));
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
};

/** The real surroundings of the process. */
export const processIo = (): Io => {
  // Made when a command first asks for it: for all others Ctrl-C keeps its usual meaning.
  let signal: AbortSignal | null = null;
  const stopped = (): AbortSignal => (signal ??= stopSignal());
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has gone (`tocsin show … | head`) is no fault of ours. A disk that is full is: what was asked for is not there.
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`tocsin: the output cannot be written (${error.code ?? error.name})\n  what to do: write it to another place\n`);
    process.exit(1);
  });
  return {
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    readInput: () => readAll(process.stdin),
    ...(process.stdin.isTTY ? { askSecret: askAtTerminal } : {}),
    env: processEnvironment(),
    get signal() { return stopped(); },
    wait: (ms) => pause(ms, undefined, { signal: stopped() }).catch(() => undefined),
  };
};
