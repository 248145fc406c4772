import type { NotificationState } from '../../shared/domain/state.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import type { Paint } from './draw-timeline.ts';
import { drawTimeline } from './draw-timeline.ts';
import { entryJson, entryRow } from './entry-lines.ts';
import type { Io } from './io.ts';
import type { Entry } from './ledger-session.ts';
import { clip } from './table.ts';
import { timelineView } from './timeline-view.ts';

/** Where `watch` shows what it reads. */
export interface Screen {
  /** New entries. */
  add: (entries: readonly Entry[]) => void;
  draw: (state: NotificationState, entries: readonly Entry[], how: { now: number; notice: string | null }) => void;
  /** A line about watching itself. */
  say: (text: string) => void;
  end: (why: 'done' | 'stopped') => void;
  restore: () => void;
}

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_BELOW = '\u001b[0J';
const CLEAR_ALL = '\u001b[2J\u001b[H';
const COLOURS: Partial<Record<string, number>> = { D: 32, A: 36, F: 35, X: 31, '?': 33, e: 33, '|': 33, W: 33, K: 34 };

const paintWith = (colour: boolean): Paint => (text, mark) => (colour && COLOURS[mark] !== undefined ? `\u001b[${COLOURS[mark]}m${text}\u001b[0m` : text);

const HINT = 'Ctrl-C stops watching; the notification goes on.';

const pictureScreen = (io: Io, eventId: string): Screen => {
  const paint = paintWith((io.env['NO_COLOR'] ?? '') === '');
  let drawn: { lines: number; width: number } | null = null;
  return {
    add: () => undefined,
    say: () => undefined,
    draw: (state, entries, { now, notice }) => {
      const width = io.out.columns();
      // A last column that is written to makes some terminals wrap.
      const picture = `${drawTimeline(timelineView(state, entries, notice), width - 1, now, paint)}\n\n${clip(HINT, width - 1)}`;
      const lines = picture.split('\n');
      // After a resize old lines may have been wrapped, so that counting them back would miss.
      const home = drawn === null ? HIDE_CURSOR : drawn.width === width ? `\u001b[${drawn.lines}A\r${CLEAR_BELOW}` : CLEAR_ALL;
      io.out.write(`${home}${lines.join('\n')}\n`);
      drawn = { lines: lines.length, width };
    },
    end: (why) => io.out.write(why === 'done' ? `Why: npx tocsin explain ${eventId}\n` : ''),
    restore: () => { if (drawn !== null) io.out.write(SHOW_CURSOR); },
  };
};

/** Says the public status whenever it has changed. */
const statusTeller = (tell: (status: string, version: number) => void): Screen['draw'] => {
  let told: string | null = null;
  return (state) => {
    const status = publicStatus(state);
    if (status === told) return;
    told = status;
    tell(status, state.version);
  };
};

const lineScreen = (io: Io, eventId: string): Screen => ({
  add: (entries) => {
    for (const entry of entries) io.out.write(`${entryRow(entry).filter((cell) => cell !== '').join('  ')}\n`);
  },
  draw: statusTeller((status) => io.out.write(`status: ${status}\n`)),
  say: (text) => io.err.write(`${text}\n`),
  end: (why) => io.out.write(why === 'done' ? `Why: npx tocsin explain ${eventId}\n` : ''),
  restore: () => undefined,
});

const jsonScreen = (io: Io, eventId: string): Screen => ({
  ...lineScreen(io, eventId),
  add: (entries) => {
    for (const entry of entries) io.out.write(`${JSON.stringify(entryJson(eventId, entry))}\n`);
  },
  draw: statusTeller((status, version) => io.out.write(`${JSON.stringify({ event_id: eventId, version, status })}\n`)),
  end: () => undefined,
});

/** A picture on a terminal, else a line per entry, with `json` a JSON object per line. */
export const openScreen = (io: Io, { json, eventId }: { json: boolean; eventId: string }): Screen => {
  if (json) return jsonScreen(io, eventId);
  return io.out.isTTY ? pictureScreen(io, eventId) : lineScreen(io, eventId);
};
