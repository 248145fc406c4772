import type { Part } from '../content/template.ts';

type Texts = Partial<Record<Part, string>>;

/** Where two texts of a part part ways: lengths in characters, the first line that differs, and the shape of what differs, without a letter of it. */
export interface PartChange { part: Part; characters: { from: number; to: number }; line: number; changed: { from: string; to: string } }

const LONGEST = 60;

/** A text without its letters and digits: what is left is its shape. */
const shapeOf = (text: string): string => {
  const masked = text.replace(/[\p{L}\p{N}\p{M}]/gu, '•').replace(/\r?\n/g, '⏎');
  const characters = [...masked];
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST).join('')}…` : masked;
};

/** How many characters both have in common from the front. */
const common = (from: readonly string[], to: readonly string[]): number => {
  let length = 0;
  while (length < from.length && length < to.length && from[length] === to[length]) length += 1;
  return length;
};

const changeOf = (part: Part, before: string, after: string): PartChange => {
  const [from, to] = [[...before], [...after]];
  const front = common(from, to);
  const back = common(from.slice(front).reverse(), to.slice(front).reverse());
  const middle = (text: string[]): string => shapeOf(text.slice(front, text.length - back).join(''));
  return {
    part, characters: { from: from.length, to: to.length }, line: from.slice(0, front).filter((character) => character === '\n').length + 1,
    changed: { from: middle(from), to: middle(to) },
  };
};

/** The parts in which two renderings differ; empty where they say the same. Nothing of what they say is in it. */
export const compareTexts = (from: Texts, to: Texts): PartChange[] => {
  const parts = [...new Set([...Object.keys(from), ...Object.keys(to)])] as Part[];
  return parts.filter((part) => from[part] !== to[part]).map((part) => changeOf(part, from[part] ?? '', to[part] ?? ''));
};
