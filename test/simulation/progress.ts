export interface Progress {
  /** So many of the runs are done, of which so many broke a promise. */
  tell: (done: number, broken: number) => void;
  end: () => void;
}

interface ProgressSettings { total: number; isTerminal: boolean; write: (text: string) => void; now: () => number }

const ON_TERMINAL_EVERY_MS = 250;
const ELSEWHERE_EVERY_MS = 15_000;

const duration = (ms: number): string => {
  const seconds = Math.round(ms / 1_000);
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
};

/** Says how far a long run is: on a terminal in one line that is written over, elsewhere in a new line every fifteen seconds. */
export const openProgress = ({ total, isTerminal, write, now }: ProgressSettings): Progress => {
  const startedAt = now();
  let toldAt = startedAt;
  let written = 0;
  const line = (done: number, broken: number): string => {
    const perMs = done / Math.max(1, now() - startedAt);
    const left = perMs > 0 ? `, ${duration((total - done) / perMs)} left` : '';
    return `${done} of ${total} runs, ${Math.round(perMs * 1_000)} runs/s${left}${broken > 0 ? `, ${broken} broke a promise` : ''}`;
  };
  return {
    tell: (done, broken) => {
      if (now() - toldAt < (isTerminal ? ON_TERMINAL_EVERY_MS : ELSEWHERE_EVERY_MS)) return;
      toldAt = now();
      const text = line(done, broken);
      write(isTerminal ? `\r${text.padEnd(written)}` : `${text}\n`);
      written = text.length;
    },
    end: () => { if (isTerminal && written > 0) write(`\r${' '.repeat(written)}\r`); },
  };
};
