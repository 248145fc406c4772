import { escapeHtml } from '../../shared/http/escape-html.ts';
import { GLYPHS } from './timeline-glyphs.ts';
import type { Item, Mark, Picture } from './timeline-picture.ts';
import { offsetText } from './timeline-picture.ts';

const WIDTH = 340;
const TIME = 64;
const FIRST = 84;
const LANE = 38;
const HEAD = 30;
const CLOSEST = 24;
const FARTHEST = 44;
const BREAK = 46;

interface Row { at: number; y: number; item?: Item; mark?: Mark; gap: { y: number; ms: number } | null; sameInstant: boolean }

const xOf = (lane: number): number => FIRST + LANE * lane;

/** A row per sign and line, time running down; farther apart where more time lies between, up to a limit. */
const rowsOf = (picture: Picture): Row[] => {
  const things = [...picture.marks.map((mark) => ({ at: mark.at, mark })), ...picture.items.map((item) => ({ at: item.at, item }))]
    .map((thing, order) => ({ ...thing, order })).sort((one, other) => one.at - other.at || one.order - other.order);
  let at = picture.start;
  let y = HEAD - CLOSEST + 22;
  return things.map((thing, index) => {
    const ms = thing.at - at;
    const quiet = ms >= picture.quietMs;
    const gap = quiet ? { y: y + BREAK / 2, ms } : null;
    y += quiet ? BREAK : Math.min(FARTHEST, CLOSEST + (ms / picture.quietMs) * (FARTHEST - CLOSEST) * 2);
    const sameInstant = index > 0 && offsetText(thing.at - picture.start) === offsetText(at - picture.start);
    at = thing.at;
    return { at: thing.at, y: Math.round(y), gap: gap && { ...gap, y: Math.round(gap.y) }, sameInstant, ...('item' in thing ? { item: thing.item } : { mark: thing.mark }) };
  });
};

/** There is little room beside a sign, and the sign says the rest. */
const brief = (words: string): string => words.replace(/^claimed as the next channel/, 'claimed').replace(/^status read, (nothing new|news)/, 'read').replace(/^status read/, 'read').replace(/^taken by the provider/, 'taken');
const briefTime = (ms: number): string => offsetText(ms).replace(' min', 'm').replace(/(\d) (s|h|d)\b/g, '$1$2');
const clipped = (words: string, room: number): string => (words.length <= room ? words : `${words.slice(0, room - 1)}…`);

const drawRow = (picture: Picture, row: Row): string => {
  const text = xOf(picture.lanes.length - 1) + 20;
  const room = Math.floor((WIDTH - text) / 6);
  const words = row.item?.words ?? row.mark?.words ?? '';
  const title = `<title>${escapeHtml(`+${offsetText(row.at - picture.start)} ${row.item ? `${picture.lanes[row.item.lane]?.name ?? ''}: ` : ''}${words}`)}</title>`;
  const time = row.sameInstant ? '' : `<text x="${TIME}" y="${row.y + 4}" text-anchor="end" class="time">+${escapeHtml(briefTime(row.at - picture.start))}</text>`;
  const label = `<text x="${text}" y="${row.y + 4}" class="words">${escapeHtml(clipped(brief(words), room))}</text>`;
  if (row.mark) return `<g class="mark m-${row.mark.kind}">${title}${time}<path d="M${FIRST - 12} ${row.y}H${text - 6}"/>${label}</g>`;
  const item = row.item as Item;
  const x = xOf(item.lane);
  const { tone, shape } = GLYPHS[item.glyph];
  if (item.from === undefined) return `<g data-version="${item.version}">${title}${time}<g class="sign t-${tone}" transform="translate(${x} ${row.y})">${shape}</g>${label}</g>`;
  const from = xOf(item.from);
  const way = Math.sign(x - from);
  return `<g class="claim" data-version="${item.version}">${title}${time}<path d="M${from} ${row.y}H${x - 8 * way}"/><path class="head" d="M${x - 9 * way} ${row.y - 5}V${row.y + 5}L${x} ${row.y}Z"/>${label}</g>`;
};

const drawRail = (picture: Picture, rows: readonly Row[], index: number): string => {
  const lane = picture.lanes[index] as Picture['lanes'][number];
  const own = rows.filter((row) => row.item?.lane === index).map(({ y }) => y);
  const now = rows.find((row) => row.mark?.kind === 'now')?.y;
  const to = lane.live && now !== undefined ? now : Math.max(...own);
  const x = xOf(index);
  const line = own.length === 0 ? '' : `<path class="run${lane.live ? ' live' : ''}" d="M${x} ${Math.min(...own)}V${to}"/>`;
  return `<g class="lane"><path class="rail" d="M${x} ${HEAD - 8}V${(rows.at(-1)?.y ?? HEAD) + 12}"/>${line}<text x="${x}" y="14" text-anchor="middle" class="name">${escapeHtml(lane.name)}</text></g>`;
};

const drawGap = (picture: Picture, { y, ms }: { y: number; ms: number }): string => {
  const lanes = picture.lanes.map((_, lane) => { const x = xOf(lane); return `<path class="gap" d="M${x} ${y - 7}V${y + 7}"/><path class="cut" d="M${x - 5} ${y - 3}L${x + 5} ${y - 7}M${x - 5} ${y + 7}L${x + 5} ${y + 3}"/>`; });
  return `<g class="break">${lanes.join('')}<text x="${xOf(picture.lanes.length - 1) + 20}" y="${y + 4}" class="standing">${escapeHtml(offsetText(ms))} of quiet</text></g>`;
};

const drawBands = (picture: Picture, rows: readonly Row[]): string => picture.bands.map(({ from, to }) => {
  const inside = rows.filter(({ at }) => at >= from && at <= to).map(({ y }) => y);
  if (inside.length === 0) return '';
  const first = Math.min(...inside);
  return `<rect class="band" x="${FIRST - 14}" y="${first - 10}" width="${LANE * (picture.lanes.length - 1) + 28}" height="${Math.max(20, Math.max(...inside) - first + 20)}"><title>paused for ${escapeHtml(offsetText(to - from))}</title></rect>`;
}).join('');

/** The picture with time running down and a word at each sign, for a narrow screen: a whole SVG element, described by `describedBy`. Pure. */
export const narrowTimeline = (picture: Picture, describedBy: string): string => {
  const rows = rowsOf(picture);
  const height = (rows.at(-1)?.y ?? HEAD) + 20;
  return `<svg class="tl narrow" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Timeline" aria-describedby="${describedBy}" xmlns="http://www.w3.org/2000/svg">
${drawBands(picture, rows)}
${picture.lanes.map((_, index) => drawRail(picture, rows, index)).join('\n')}
${rows.flatMap(({ gap }) => (gap ? [drawGap(picture, gap)] : [])).join('\n')}
${rows.map((row) => drawRow(picture, row)).join('\n')}
</svg>`;
};
