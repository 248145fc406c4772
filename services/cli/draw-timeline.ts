import type { Lane, Mark, TimelineView } from './timeline-view.ts';
import { MARKS } from './timeline-view.ts';
import { clip } from './table.ts';

const LABEL_WIDTH = 7;
const STEPS_MS = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000];

/** Colours a mark; the plain one leaves it as it is. */
export type Paint = (text: string, mark: Mark) => string;
const plain: Paint = (text) => text;

interface Scale { from: number; to: number; columns: number }

const columnOf = (scale: Scale, at: number): number =>
  Math.round(((at - scale.from) / (scale.to - scale.from)) * (scale.columns - 1));

const span = (ms: number): string => {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${Number(seconds.toFixed(1))}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = Math.round(seconds % 60);
  if (minutes < 60) return rest === 0 ? `${minutes}m` : `${minutes}m${rest}s`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${Math.floor(minutes / 60)}h${minutes % 60}m`;
};

/** A deadline ahead is shown with its place; once it is past, what has happened decides. */
const scaleOf = (view: TimelineView, now: number, columns: number): Scale => {
  const marks = view.lanes.flatMap((lane) => lane.marks.map((mark) => mark.at));
  const last = Math.max(view.requestedAt + 1_000, ...marks, view.settledAt === null ? now : 0);
  return { from: view.requestedAt, to: last + Math.ceil((last - view.requestedAt) / 20), columns };
};

/** Places that many marks in a line, each in its order and none over another, as near to its instant as may be. */
const placed = (lane: Lane, scale: Scale): Map<number, Mark> => {
  const columns: number[] = [];
  for (const { at } of lane.marks) columns.push(Math.max(columnOf(scale, at), (columns.at(-1) ?? -1) + 1));
  for (let index = columns.length - 1, limit = scale.columns - 1; index >= 0; index -= 1, limit -= 1) {
    columns[index] = Math.min(columns[index] as number, limit);
  }
  return new Map(lane.marks.map(({ mark }, index) => [columns[index] as number, mark]));
};

const axis = (scale: Scale): string => {
  const step = STEPS_MS.find((ms) => ((scale.to - scale.from) / ms) * 9 <= scale.columns) ?? 86_400_000;
  let line = '';
  for (let offset = 0; scale.from + offset <= scale.to; offset += step) {
    const column = columnOf(scale, scale.from + offset);
    const label = `+${span(offset)}`;
    if (column >= line.length && column + label.length <= scale.columns) line = line.padEnd(column) + label;
  }
  return `${' '.repeat(LABEL_WIDTH)}${line}`;
};

const drawLane = (lane: Lane, scale: Scale, now: number, paint: Paint): string => {
  const marks = placed(lane, scale);
  const first = lane.marks.find(({ mark }) => mark !== '|')?.at;
  const end = lane.live ? now : Math.min(now, Math.max(0, ...lane.marks.map(({ at }) => at)));
  const reach = first === undefined ? -1 : Math.min(scale.columns - 1, columnOf(scale, end));
  const start = first === undefined ? 0 : columnOf(scale, first);
  const last = Math.max(reach, ...marks.keys());
  let line = '';
  for (let column = 0; column <= last; column += 1) {
    const mark = marks.get(column);
    line += mark === undefined ? (column >= start && column <= reach ? '-' : ' ') : paint(mark, mark);
  }
  return `${lane.name.padEnd(LABEL_WIDTH)}${line}`.trimEnd();
};

const legend = (view: TimelineView, width: number): string[] => {
  const used = new Set(view.lanes.flatMap((lane) => lane.marks.map(({ mark }) => mark)));
  const lines: string[] = [];
  for (const mark of (Object.keys(MARKS) as Mark[]).filter((one) => used.has(one))) {
    const word = `${mark} ${MARKS[mark]}`;
    const line = lines.at(-1);
    if (line === undefined || line.length + 3 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line}   ${word}`;
  }
  return lines;
};

const distance = (at: number, now: number): string => (at >= now ? `in ${span(Math.round((at - now) / 100) * 100)}` : `due since ${span(Math.round((now - at) / 100) * 100)}`);
const clock = (at: number): string => `${new Date(at).toISOString().slice(11, 19)}Z`;

const statusLines = (view: TimelineView, now: number): string[] => {
  if (view.settledAt !== null) return [`status ${view.status}, settled at ${clock(view.settledAt)}`];
  return [`status ${view.status}`, ...(view.next ? [`next   ${view.next.what} at ${clock(view.next.at)}, ${distance(view.next.at, now)}`] : [])];
};

/**
 * Draws a notification over time: a lane per channel, marks in the order of the ledger, deadlines also ahead of `now`. Pure;
 * no line is longer than `width` columns. `paint` may colour single marks. Where a lane has no room for all its marks the oldest
 * are left out.
 */
export const drawTimeline = (view: TimelineView, width: number, now: number, paint: Paint = plain): string => {
  const columns = Math.max(1, width);
  // Narrower than its label a lane shows nothing but the label, and there is no place for colours to be cut in.
  const lanes = columns > LABEL_WIDTH;
  const scale = scaleOf(view, now, Math.max(1, columns - LABEL_WIDTH));
  const cut = (text: string): string => clip(text, columns);
  return [
    cut(`${view.eventId}  ${view.policy}`),
    cut(`requested ${clock(view.requestedAt)}, expires ${clock(view.expiresAt)}, now ${clock(now)}`),
    '',
    ...(lanes ? [axis(scale).trimEnd()] : []),
    ...view.lanes.map((lane) => (lanes ? drawLane(lane, scale, now, paint) : cut(lane.name))),
    '',
    ...view.lanes.filter((lane) => lane.name !== 'all').map((lane) => cut(`${lane.name.padEnd(LABEL_WIDTH)}${lane.standing}`)),
    ...statusLines(view, now).map(cut),
    '',
    ...legend(view, columns).map(cut),
    ...(view.notice === null ? [] : ['', cut(view.notice)]),
  ].join('\n');
};
