import { escapeHtml } from '../../shared/http/escape-html.ts';
import { GLYPHS } from './timeline-glyphs.ts';
import type { GlyphName } from './timeline-glyphs.ts';
import { TIMELINE_CSS, TIMELINE_COLOURS } from './timeline-css.ts';
import { narrowTimeline } from './timeline-narrow.ts';
import type { Picture } from './timeline-picture.ts';
import { offsetText } from './timeline-picture.ts';
import { wideTimeline } from './timeline-wide.ts';

const WORDS_ID = 'timeline-words';

/** Those that occur, in the order of the table. */
const signsIn = (picture: Picture): GlyphName[] => {
  const used = new Set(picture.items.map(({ glyph }) => glyph));
  return (Object.keys(GLYPHS) as GlyphName[]).filter((name) => used.has(name));
};

const legend = (picture: Picture): string => {
  const signs = signsIn(picture).map((name) => `<li><svg class="tl sample" viewBox="-9 -9 18 18" aria-hidden="true"><g class="sign t-${GLYPHS[name].tone}">${GLYPHS[name].shape}</g></svg>${escapeHtml(GLYPHS[name].words)}</li>`);
  return `<ul class="legend" aria-label="Legend">${signs.join('')}${picture.bands.length > 0 ? '<li><svg class="tl sample" viewBox="-9 -9 18 18" aria-hidden="true"><rect class="band" x="-9" y="-9" width="18" height="18"/></svg>held by a pause</li>' : ''}</ul>`;
};

/** What the picture shows, as a list: its alternative for everyone who does not see it. */
const inWords = (picture: Picture): string => {
  const signs = picture.items.map((item) => ({ at: item.at, words: `${picture.lanes[item.lane]?.name ?? ''}: ${item.words}` }));
  const lines = picture.marks.filter(({ kind }) => kind !== 'now').map(({ at, words }) => ({ at, words: `${words}${at > picture.now ? ' (ahead)' : ''}` }));
  const all = [...signs, ...lines].sort((one, other) => one.at - other.at);
  return `<details class="words-list" id="timeline-details"><summary id="timeline-summary">The picture in words</summary><ol id="${WORDS_ID}">${all.map(({ at, words }) => `<li><b>+${escapeHtml(offsetText(at - picture.start))}</b> ${escapeHtml(words)}</li>`).join('')}</ol></details>`;
};

/** The drawn timeline as HTML: time to the right on a wide screen, downwards on a narrow one, with its legend and the same in words. Pure. */
export const timeline = (picture: Picture): string =>
  `<figure class="timeline">${wideTimeline(picture, WORDS_ID)}${narrowTimeline(picture, WORDS_ID)}<figcaption>${legend(picture)}</figcaption></figure>${inWords(picture)}`;

const COLUMN = 220;
const ROW = 22;

/** The legend as part of a picture, from `top` on. */
const drawnLegend = (picture: Picture, top: number): { svg: string; height: number } => {
  const names = signsIn(picture);
  const svg = names.map((name, index) => `<g transform="translate(${12 + (index % 5) * COLUMN} ${top + 12 + Math.floor(index / 5) * ROW})"><g class="sign t-${GLYPHS[name].tone}">${GLYPHS[name].shape}</g><text x="14" y="4">${escapeHtml(GLYPHS[name].words)}</text></g>`);
  return { svg: svg.join('\n'), height: Math.ceil(names.length / 5) * ROW + 8 };
};

/** The wide picture with its legend as a file that stands by itself. */
export const timelineFile = (picture: Picture): string => {
  const described = picture.items.map((item) => `+${offsetText(item.at - picture.start)} ${picture.lanes[item.lane]?.name ?? ''}: ${item.words}`).join('; ');
  const styles = `${TIMELINE_COLOURS}${TIMELINE_CSS}.tl.wide { display: block; background: var(--card); font-family: system-ui, sans-serif; }`;
  const svg = wideTimeline(picture, 'words');
  const drawn = Number(/viewBox="0 0 \d+ (\d+)"/.exec(svg)?.[1]);
  const below = drawnLegend(picture, drawn + 8);
  return svg.replace(/(viewBox="0 0 \d+ )\d+"/, `$1${drawn + 8 + below.height}"`).replace('>', `><desc id="words">${escapeHtml(described)}</desc><style>${styles}</style>`).replace('</svg>', `${below.svg}\n</svg>`);
};
