import type { Io } from './io.ts';
import { clip } from './table.ts';

const REDRAW_MS = 100;
const WIDTH = 24;

export interface Progress {
  /** `share` between 0 and 1; null where the end is not known. */
  show: (what: string, share: number | null) => void;
  clear: () => void;
}

const bar = (share: number): string => {
  const full = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${String(Math.floor(Math.min(1, share) * 100)).padStart(3)} %`;
};

/** A bar on the terminal's error stream, redrawn in place; nothing where that is no terminal. */
export const createProgress = (io: Io, monotonic: () => number = () => performance.now()): Progress => {
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    show: (what, share) => {
      if (!io.err.isTTY || monotonic() - drawnAt < REDRAW_MS) return;
      drawnAt = monotonic();
      io.err.write(`\r\u001b[K${clip(share === null ? what : `${bar(share)}  ${what}`, io.err.columns() - 1)}`);
    },
    clear: () => { if (io.err.isTTY && drawnAt !== Number.NEGATIVE_INFINITY) io.err.write('\r\u001b[K'); },
  };
};
