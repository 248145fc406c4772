import { Liquid, Tokenizer, TokenKind } from 'liquidjs';
import type { Template, TopLevelToken } from 'liquidjs';
import type { Part } from './template.ts';

/**
 * What a template may use. Loops, includes, layouts and assignments are not needed by notices; `date` would read the clock
 * and `raw` would switch off the escaping, so both are left out: a render is a function of the template and its variables.
 */
export const TAGS = ['if', 'unless', 'case', 'comment', 'raw'];
export const FILTERS = ['escape', 'upcase', 'downcase', 'capitalize', 'strip', 'strip_newlines', 'truncate', 'truncatewords', 'default', 'append', 'prepend', 'replace', 'url_encode', 'size'];

/** A file system with no files: a partial can neither be named nor read. */
const nowhere = {
  readFile: () => Promise.reject(new Error('no files')),
  readFileSync: (): string => { throw new Error('no files'); },
  exists: () => Promise.resolve(false),
  existsSync: () => false,
  contains: () => Promise.resolve(false),
  containsSync: () => false,
  resolve: (_dir: string, file: string) => file,
};

const engineOf = (escaped: boolean): Liquid => {
  const engine = new Liquid({
    fs: nowhere, root: [], relativeReference: false, dynamicPartials: false, strictFilters: true, strictVariables: true, ownPropertyOnly: true, cache: false,
    parseLimit: 200_000, memoryLimit: 2_000_000, ...(escaped ? { outputEscape: 'escape' as const } : {}),
  });
  for (const tag of Object.keys(engine.tags)) if (!TAGS.includes(tag)) delete engine.tags[tag];
  for (const filter of Object.keys(engine.filters)) if (!FILTERS.includes(filter)) delete engine.filters[filter];
  return engine;
};

const plain = engineOf(false);
const html = engineOf(true);
const engineFor = (part: Part): Liquid => (part === 'html' ? html : plain);

/** A fault in a template. The message holds names and places out of the template, never a value that was rendered into it. */
export class LiquidError extends Error {
  override readonly name = 'LiquidError';
  readonly line: number;
  readonly column: number;
  constructor(text: string, line: number, column: number) {
    super(text);
    this.line = line;
    this.column = column;
  }
}

interface EngineError { name: string; message: string; token?: { getPosition?: () => [number, number] } }

/** Only these of the engine's messages are known to quote the template alone. */
const SAFE = /^(undefined variable: [\w.[\]"-]+|undefined filter: \w+|tag "?[^"\n]{1,40}"? not (found|closed)|(tag|output|raw) "(?:[^"\\\n]|\\.){1,100}" not closed|unexpected [^\n]{1,60})/;

const translated = (thrown: unknown): LiquidError => {
  if (thrown instanceof LiquidError) return thrown;
  const error = thrown as EngineError;
  const [line, column] = error.token?.getPosition?.() ?? [1, 1];
  return new LiquidError(SAFE.exec(error.message)?.[1] ?? error.name, line, column);
};

/** A string where a value may stand; the apostrophe of a word opens none. */
const STRING = /(?<![\p{L}\p{N}_])(?:"[^"]*"|'[^']*')/gu;
/** An output is one value, and then filters or its end. */
const OUTPUT = /^\{\{-?\s*[\p{L}\p{N}_.\-[\]"']*\s*(?:\||-?\}\}$)/u;

/** The engine takes all up to the next end for the tag, and drops what follows the variable: the text between would not be sent. */
const refuseUnclosed = (tokens: readonly TopLevelToken[]): void => {
  for (const token of tokens) {
    if (token.kind === TokenKind.HTML) continue;
    const text = token.getText();
    const bare = text.replace(STRING, '""');
    const isOutput = token.kind === TokenKind.Output;
    if (!/\{[{%]/.test(bare.slice(2)) && (!isOutput || OUTPUT.test(bare))) continue;
    const [line, column] = token.getPosition();
    throw new LiquidError(`${isOutput ? 'output' : 'tag'} ${JSON.stringify(text.slice(0, 32))} not closed`, line ?? 1, column ?? 1);
  }
};

/** A variable that a part reads, and where it first does. */
export interface VariableRead { name: string; line: number; column: number }
/** A parsed part of a template. */
export interface CompiledPart {
  part: Part; templates: Template[];
  reads: VariableRead[];
  /** Where it is nothing but texts and variables: the texts, and the variable after each but the last. */
  simple: { texts: string[]; names: string[] } | null;
}

const SIMPLE_OUTPUT = /\{\{ ?([A-Za-z][A-Za-z0-9_]*) ?\}\}/;

/** Most templates only put variables into a text: that needs no engine. One with a tag, a filter, a path or white-space control does. */
const simpleOf = (source: string): CompiledPart['simple'] => {
  const pieces = source.split(SIMPLE_OUTPUT);
  const texts = pieces.filter((_, index) => index % 2 === 0);
  const names = pieces.filter((_, index) => index % 2 === 1);
  return texts.some((text) => text.includes('{{') || text.includes('{%') || text.includes('}}')) || names.some((name) => RESERVED.has(name)) ? null : { texts, names };
};
/** Words that the engine reads as values, not as names. */
const RESERVED = new Set(['true', 'false', 'nil', 'null', 'empty', 'blank', 'undefined']);

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' };
const escapeHtml = (text: string): string => (/[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string) : text);

/** Null where a variable is not there: then the engine says so. */
const renderSimple = (part: Part, { texts, names }: NonNullable<CompiledPart['simple']>, variables: Record<string, string>): string | null => {
  let text = texts[0] ?? '';
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (typeof value !== 'string') return null;
    text += (part === 'html' ? escapeHtml(value) : value) + (texts[index + 1] ?? '');
  }
  return text;
};

/** Whether a part is sure to become a text of these variables, so that it need not be made to know that. */
export const isSureToRender = ({ simple }: CompiledPart, variables: Record<string, string>): boolean =>
  simple !== null && simple.names.every((name) => Object.hasOwn(variables, name) && typeof variables[name] === 'string');

/**
 * Parses the source of one part.
 * @throws LiquidError with the place of the fault.
 */
export const compilePart = (part: Part, source: string): CompiledPart => {
  const engine = engineFor(part);
  try {
    refuseUnclosed(new Tokenizer(source).readTopLevelTokens());
    const templates = engine.parse(source);
    const reads = Object.entries(engine.analyzeSync(templates).globals).map(([name, [first]]) => ({ name, line: first?.location.row ?? 1, column: first?.location.col ?? 1 }));
    return { part, templates, reads, simple: simpleOf(source) };
  } catch (thrown) {
    throw translated(thrown);
  }
};

/**
 * Renders a parsed part. Values are data: template syntax in them stays as it is. In `html` every output is escaped.
 * @throws LiquidError, e.g. where a variable is not there.
 */
export const renderPart = ({ part, templates, simple }: CompiledPart, variables: Record<string, string>): string => {
  const text = simple && renderSimple(part, simple, variables);
  return text ?? renderByEngine({ part, templates }, variables);
};

/** `renderPart` by the engine alone. */
export const renderByEngine = ({ part, templates }: Pick<CompiledPart, 'part' | 'templates'>, variables: Record<string, string>): string => {
  try {
    return String(engineFor(part).renderSync(templates, variables));
  } catch (thrown) {
    throw translated(thrown);
  }
};
