import { Tokenizer, TokenKind } from 'liquidjs';
import type { TagToken } from 'liquidjs';
import type { Part, TemplateVersion } from './template.ts';

/** Stand for what a text shows at its place: a url variable as it is; any other output; and the border between two branches. */
export const LINK = '\uE000';
export const VALUE = '\uE001';
const BORDER = '\uE002';
const MARKS = /[\uE000-\uE002]/g;

/** An output of a source: the variable it shows, with the filters that change it, and where it stands. */
export interface ShownOutput { source: string; name: string; filters: string[]; line: number }
/** A part as its reader would see it, a mark for each output. `lineAt` is the line of the source of each of its characters. */
export interface TextShape { text: string; lineAt: (index: number) => number; outputs: ShownOutput[] }

const OUTPUT = /^\{\{-?\s*([\w-]*)\s*([\s\S]*?)-?\}\}$/;
/** Leave a link what it is: an address has none of the characters that these change. */
const HARMLESS = new Set(['escape', 'strip', 'strip_newlines']);

const outputOf = (source: string, line: number): ShownOutput => {
  const [, name = '', rest = ''] = OUTPUT.exec(source) ?? [];
  const bare = rest.replace(/"[^"]*"|'[^']*'/g, '""');
  return { source, name, line, filters: [...bare.matchAll(/\|\s*(\w+)/g)].map(([, filter]) => filter as string).filter((filter) => !HARMLESS.has(filter)) };
};

const NAMED: Readonly<Record<string, string>> = { amp: '&', colon: ':', sol: '/', bsol: '\\', period: '.', commat: '@', num: '#', quest: '?', lowbar: '_', nbsp: ' ', hyphen: '-', tab: '', newline: '' };
const ENTITY = /&(?:#x([0-9a-f]{1,8})|#(\d{1,8})|([a-z]{2,8})(?=;));?/gi;

/** The character of an entity as a browser sees it in an address; what would end an attribute stays one that does not. */
const decoded = (whole: string, hex: string | undefined, decimal: string | undefined, name: string | undefined): string => {
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  if (code === 0 || code > 0x10FFFF) return '_';
  const character = String.fromCodePoint(code);
  return /[\t\r\n]/.test(character) ? '' : character.replace(/["'<>]/, '_');
};

/** Text between tags; `trimLeft` characters of it went by white-space control. */
interface PlainToken { getContent: () => string; trimLeft: number }

/** Behind it stands what another reader sees. */
const isBorder = ({ name }: TagToken): boolean => ['else', 'elsif', 'when'].includes(name);

/**
 * A part with a mark in place of each output, entities of HTML decoded.
 * @throws what the parser throws: only of a part that parses.
 */
export const shapeOf = ({ part, source }: { part: Part; source: string }, variables: TemplateVersion['variables']): TextShape => {
  const shape: TextShape & { lines: number[] } = { text: '', lines: [], lineAt: (index) => shape.lines[index] ?? shape.lines.at(-1) ?? 1, outputs: [] };
  const add = (text: string, line: number): void => {
    let at = line;
    for (const character of text.split('')) {
      shape.lines.push(at);
      if (character === '\n') at += 1;
    }
    shape.text += text;
  };
  for (const token of new Tokenizer(source).readTopLevelTokens()) {
    const line = source.slice(0, token.begin).split('\n').length;
    if (token.kind === TokenKind.Output) {
      const shown = outputOf(token.getText(), line);
      shape.outputs.push(shown);
      add(variables[shown.name]?.type === 'url' && shown.filters.length === 0 ? LINK : VALUE, line);
    } else if (token.kind === TokenKind.Tag) {
      if (isBorder(token as TagToken)) add(BORDER, line);
    } else {
      const plain = token as PlainToken;
      const text = plain.getContent().replace(MARKS, '_');
      const skipped = source.slice(token.begin, token.begin + Math.max(0, plain.trimLeft)).split('\n').length - 1;
      add(part === 'html' ? text.replace(ENTITY, decoded) : text, line + skipped);
    }
  }
  return shape;
};
