import { escapeHtml } from '../../shared/http/escape-html.ts';
import { GLYPHS } from './timeline-glyphs.ts';
import type { Item, LaneView, Mark, Picture } from './timeline-picture.ts';
import { offsetText } from './timeline-picture.ts';
import type { Scale } from './timeline-scale.ts';
import { scaleOf, ticksOf } from './timeline-scale.ts';

const WIDTH = 1_120;
const LEFT = 112;
const RIGHT = 26;
const LANE = 62;
const LABEL = 17;

interface Placed<Thing> { x: number; thing: Thing }
interface Layout { picture: Picture; scale: Scale; items: Placed<Item>[]; marks: Placed<Mark>[]; top: number; height: number }

const rounded = (value: number): string => String(Number(value.toFixed(1)));
const yOf = (layout: Layout, lane: number): number => layout.top + LANE * lane + LANE / 2;

/** Signs and lines in the order of time, a line before what happens at its instant. */
const placedOn = (picture: Picture): Omit<Layout, 'top' | 'height'> => {
  const things = [...picture.marks.map((mark) => ({ at: mark.at, mark })), ...picture.items.map((item) => ({ at: item.at, item }))]
    .map((thing, order) => ({ ...thing, order })).sort((one, other) => one.at - other.at || one.order - other.order);
  const scale = scaleOf(things.map((thing) => ({ at: thing.at, lane: 'item' in thing ? thing.item.lane : null })), { start: picture.start, width: WIDTH - LEFT - RIGHT, quietMs: picture.quietMs });
  const xs = scale.xs.map((x) => x + LEFT + 10);
  return {
    picture, scale,
    items: things.flatMap((thing, index) => ('item' in thing ? [{ x: xs[index] as number, thing: thing.item }] : [])),
    marks: things.flatMap((thing, index) => ('mark' in thing ? [{ x: xs[index] as number, thing: thing.mark }] : [])),
  };
};

/** Labels in as many rows as it takes that none lies over another. */
const labelRows = (marks: readonly Placed<Mark>[]): number[] => {
  const ends: number[] = [];
  return marks.map(({ x, thing }) => {
    const half = thing.words.length * 3.6 + 5;
    const middle = Math.min(x, WIDTH - half);
    const row = ends.findIndex((end) => end <= middle - half);
    const at = row === -1 ? ends.length : row;
    ends[at] = middle + half;
    return at;
  });
};

const drawMarks = (layout: Layout, rows: readonly number[]): string => layout.marks.map(({ x, thing }, index) => {
  const y = 14 + (rows[index] as number) * LABEL;
  const half = thing.words.length * 3.6 + 5;
  return `<g class="mark m-${thing.kind}"><title>${escapeHtml(`${thing.words}, +${offsetText(thing.at - layout.picture.start)}`)}</title>
<path d="M${rounded(x)} ${y + 5}V${layout.height - 26}"/><text x="${rounded(Math.min(x, WIDTH - half))}" y="${y}" text-anchor="middle">${escapeHtml(thing.words)}</text></g>`;
}).join('\n');

const drawLane = (layout: Layout, lane: LaneView, index: number): string => {
  const y = yOf(layout, index);
  const own = layout.items.filter(({ thing }) => thing.lane === index).map(({ x }) => x);
  const now = layout.marks.find(({ thing }) => thing.kind === 'now')?.x;
  const to = lane.live && now !== undefined ? now : Math.max(...own);
  const line = own.length === 0 ? '' : `<path class="run${lane.live ? ' live' : ''}" d="M${rounded(Math.min(...own))} ${y}H${rounded(to)}"/>`;
  return `<g class="lane"><path class="rail" d="M${LEFT} ${y}H${WIDTH - 8}"/>${line}<text x="4" y="${y - 1}" class="name">${escapeHtml(lane.name)}</text><text x="4" y="${y + 14}" class="standing">${escapeHtml(lane.standing)}</text></g>`;
};

const drawItem = (layout: Layout, { x, thing }: Placed<Item>): string => {
  const { tone, shape } = GLYPHS[thing.glyph];
  const y = yOf(layout, thing.lane);
  const title = `<title>${escapeHtml(`+${offsetText(thing.at - layout.picture.start)} ${layout.picture.lanes[thing.lane]?.name ?? ''}: ${thing.words}`)}</title>`;
  if (thing.from === undefined) return `<g class="sign t-${tone}" data-version="${thing.version}" transform="translate(${rounded(x)} ${y})">${title}${shape}</g>`;
  const from = yOf(layout, thing.from);
  const way = Math.sign(y - from);
  const after = x < WIDTH - 300;
  return `<g class="claim" data-version="${thing.version}">${title}<path d="M${rounded(x)} ${from + 9 * way}V${y - 8 * way}"/><path class="head" d="M${rounded(x - 5)} ${y - 9 * way}H${rounded(x + 5)}L${rounded(x)} ${y}Z"/>
<text x="${rounded(x + (after ? 9 : -9))}" y="${rounded((from + y) / 2 + 4)}"${after ? '' : ' text-anchor="end"'}>${escapeHtml(thing.words.replace(/^claimed as the next channel/, 'claimed'))}</text></g>`;
};

const drawBreaks = (layout: Layout): string => layout.scale.breaks.map(({ fromX, toX, ms }) => {
  const x = LEFT + 10 + (fromX + toX) / 2;
  const gaps = layout.picture.lanes.map((_, lane) => { const y = yOf(layout, lane); return `<path class="gap" d="M${rounded(x - 9)} ${y}H${rounded(x + 9)}"/><path class="cut" d="M${rounded(x - 11)} ${y + 5}L${rounded(x - 5)} ${y - 5}M${rounded(x + 5)} ${y + 5}L${rounded(x + 11)} ${y - 5}"/>`; });
  return `<g class="break"><title>${escapeHtml(`${offsetText(ms)} without any entry`)}</title>${gaps.join('')}</g>`;
}).join('\n');

const drawBands = (layout: Layout): string => layout.picture.bands.map(({ from, to }) => {
  const place = (at: number): number => (layout.scale.xOf(at) ?? 0) + LEFT + 10;
  return `<rect class="band" x="${rounded(place(from))}" y="${layout.top}" width="${rounded(Math.max(4, place(to) - place(from)))}" height="${layout.height - layout.top - 26}"><title>paused for ${escapeHtml(offsetText(to - from))}</title></rect>`;
}).join('\n');

const drawAxis = (layout: Layout): string => {
  const { picture, scale } = layout;
  const end = Math.max(...layout.items.map(({ thing }) => thing.at), ...layout.marks.map(({ thing }) => thing.at));
  return ticksOf(scale, { start: picture.start, end, room: 64 }).map(({ ms, x }) =>
    `<g class="tick"><path d="M${rounded(x + LEFT + 10)} ${layout.height - 26}v6"/><text x="${rounded(Math.min(x + LEFT + 10, WIDTH - 30))}" y="${layout.height - 6}" text-anchor="middle">${ms === 0 ? '0' : `+${offsetText(ms)}`}</text></g>`).join('\n');
};

/** The picture with time running to the right, for a wide screen: a whole SVG element, described by `describedBy`. Pure. */
export const wideTimeline = (picture: Picture, describedBy: string): string => {
  const placed = placedOn(picture);
  const rows = labelRows(placed.marks);
  const top = 22 + Math.max(0, ...rows) * LABEL;
  const layout: Layout = { ...placed, top, height: top + LANE * picture.lanes.length + 28 };
  return `<svg class="tl wide" viewBox="0 0 ${WIDTH} ${layout.height}" role="img" aria-label="Timeline" aria-describedby="${describedBy}" xmlns="http://www.w3.org/2000/svg">
${drawBands(layout)}
${picture.lanes.map((lane, index) => drawLane(layout, lane, index)).join('\n')}
${drawMarks(layout, rows)}
${drawBreaks(layout)}
<path class="axis" d="M${LEFT} ${layout.height - 26}H${WIDTH - 8}"/>
${drawAxis(layout)}
${layout.items.map((item) => drawItem(layout, item)).join('\n')}
</svg>`;
};
