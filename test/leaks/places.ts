import { encodingsOf } from '../support/traces.ts';
import type { Exception, Marker } from './markers.ts';

/** Everything that was said, by where: `log`, `db:table.column`, `page:role path` and so on. */
export type Places = Map<string, string[]>;

export const say = (places: Places, place: string, text: string): void => {
  const heap = places.get(place);
  if (heap) heap.push(text);
  else places.set(place, [text]);
};

export interface Found { marker: Marker; place: string; as: string }

/** A code of a few digits stands by chance in any hash: it is looked for as a word of its own. */
const isShort = (text: string): boolean => /^\d{6}$/.test(text);

/** Where any encoding of any marked text stands. Letter case means nothing, as in hex and in addresses. */
export const findIn = (places: Places, marked: Readonly<Partial<Record<Marker, string>>>): Found[] => {
  const wanted = Object.entries(marked).flatMap(([marker, text]) => {
    // A number is looked for without its plus too: in a mask only the last four digits are left.
    const texts = text.startsWith('+') ? [text, text.slice(1)] : [text];
    return (isShort(text) ? [] : texts.flatMap(encodingsOf)).map((as) => ({ marker: marker as Marker, as: as.toLowerCase() }));
  });
  const short = Object.entries(marked).filter(([, text]) => isShort(text));
  return [...places].flatMap(([place, heaps]) => {
    // What comes as a stream may be cut anywhere.
    const heap = heaps.join(place === 'queue:commands' ? '' : '\n');
    const lower = heap.toLowerCase();
    return [
      ...wanted.filter(({ as }) => lower.includes(as)).map(({ marker, as }) => ({ marker, place, as })),
      ...short.filter(([, text]) => new RegExp(`(?<![\\w.:+-])${text}(?![\\w:-])`).test(heap)).map(([marker, text]) => ({ marker: marker as Marker, place, as: text })),
    ];
  });
};

/** What stands where it must not. */
export const leaksOf = (found: readonly Found[], may: readonly Exception[]): string[] => {
  const isAllowed = ({ marker, place }: Found): boolean => may.some((one) => one.marker.includes(marker) && one.at.test(place));
  return [...new Set(found.filter((one) => !isAllowed(one)).map(({ marker, place, as }) => `${marker} at ${place} (as ${as})`))];
};
