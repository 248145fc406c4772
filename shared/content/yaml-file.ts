import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { isNode, LineCounter, parseDocument, visit } from 'yaml';
import type { Document } from 'yaml';
import type { z } from 'zod';
import { ConfigurationError } from '../config/environment.ts';

/** One fault of a file: where it is, which field, what is wrong and, after a semicolon, how to cure it. `code` names its kind for programs. */
export interface FileProblem { file: string; line: number; column: number; field: string; problem: string; code: string; /** Worth a look; left out for a fault that must be cured. */ level?: 'warning' }

export const isError = ({ level }: FileProblem): boolean => level !== 'warning';

/** The fault as one line, `file:line:column field: what is wrong; what to do`. */
export const textOf = (found: FileProblem): string =>
  `${found.file}:${found.line}:${found.column}${found.field ? ` ${found.field}` : ''}: ${found.problem}`;

/** Every fault found in the files of one folder, one a line in the message. */
export class FileProblemsError extends Error {
  readonly problems: readonly FileProblem[];
  constructor(problems: readonly FileProblem[]) {
    super(problems.map(textOf).join('\n'));
    this.problems = problems;
    this.name = new.target.name;
  }
}

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES']);
const absence = (error: unknown): string | null => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !ABSENT.has(code)) return null;
  return code === 'EACCES' ? 'cannot be read' : code === 'ENOENT' ? 'is not there' : code === 'ENOTDIR' ? 'is not a folder' : 'is a folder, not a file';
};

/**
 * Runs what reads a folder or file that a variable leads to.
 * @throws ConfigurationError naming the path, the variable and what to do, where it is not there or cannot be read.
 */
export const readFrom = <T>(path: string, variable: string, read: () => T, cure = `correct ${variable}`): T => {
  try {
    return read();
  } catch (error) {
    const problem = absence(error);
    if (problem === null) throw error;
    throw new ConfigurationError(`${path} ${problem}: ${cure}, or leave ${variable} unset to use what is shipped`);
  }
};

/** A path as it stands in messages: from the given folder's own name on, with forward slashes on every system. */
export const shownPath = (dir: string, path: string): string =>
  join(basename(dir), relative(dir, path)).split(sep).join('/');

type Path = readonly PropertyKey[];
/** Makes the fault of a field of a file that was read. */
export type At = (path: Path, problem: string, code?: string) => FileProblem;
type Read<T> = { ok: true; value: T; at: At } | { ok: false; problems: FileProblem[] };

const fieldOf = (path: Path): string =>
  path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : text ? `${text}.${String(key)}` : String(key)), '');

/** The place of a field, or of the nearest thing around it where the field is missing. */
const offsetOf = (document: Document, path: Path): number => {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
};

type Issue = z.core.$ZodIssue;

const wordsOf = (issue: Issue): string => {
  const isMissing = issue.input === undefined;
  switch (issue.code) {
    case 'unrecognized_keys': return `unknown field ${issue.keys.join(', ')}; remove it or correct its name`;
    case 'invalid_value': return `${isMissing ? 'is missing; state' : 'must be'} one of ${issue.values.map(String).join(', ')}${isMissing ? '' : '; write one of them'}`;
    case 'custom': return issue.message;
    case 'invalid_type': return isMissing ? `is missing; ${curesOfMissing[lastOf(issue)] ?? `add it (${issue.expected})`}` : `must be of type ${issue.expected}; correct it`;
    case 'too_big': return `is too large or too long: at most ${String(issue.maximum)}; lessen it`;
    case 'too_small': return issue.message.startsWith('Too small') ? `is too small or too short: at least ${String(issue.minimum)}; raise it` : cured(issue.message);
    case 'invalid_key': return `is no key that may stand here: ${issue.issues.map(({ message }) => message).join(', ')}; correct the key`;
    default: return cured(issue.message);
  }
};

/** What is wrong says by itself how it should be; what is to be done about it is then no more than that. */
const cured = (told: string): string => (told.includes(';') ? told : `${told}; correct it`);

const lastOf = (issue: Issue): string => String(issue.path.at(-1));
const curesOfMissing: Readonly<Record<string, string>> = { max_submissions: 'retries without a bound never end: state how many submissions there may be, such as 6' };
const CODES: Readonly<Record<string, string>> = { on_unknown: 'no_on_unknown', max_submissions: 'unbounded_retries', channel: 'unknown_channel' };

/** The kind of a fault, for programs. */
const codeOf = (issue: Issue): string => {
  if (issue.code === 'custom') return (issue.params as { code?: string } | undefined)?.code ?? 'invalid_value';
  if (issue.code === 'unrecognized_keys') return 'unknown_field';
  return CODES[lastOf(issue)] ?? (issue.input === undefined ? 'missing_field' : 'invalid_value');
};

/** The document's values; or the place of its first alias, where they unfold without bound. */
const plainOf = (document: Document): { ok: true; value: unknown } | { ok: false; offset: number } => {
  try {
    return { ok: true, value: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    let offset = 0;
    visit(document, { Alias: (_key, { range }) => {
      offset = range?.[0] ?? 0;
      return visit.BREAK;
    } });
    return { ok: false, offset };
  }
};

/**
 * Reads a YAML file (1.2, strict: duplicate keys, tab indents and unknown tags are faults) and checks it against a schema.
 * All faults come back together, with line and column.
 */
export const readYamlFile = <T>(path: string, schema: z.ZodType<T>, dir = dirname(path)): Read<T> => {
  const lines = new LineCounter();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const problem = absence(error);
    if (problem === null) throw error;
    return { ok: false, problems: [{ file: shownPath(dir, path), line: 1, column: 1, field: '', problem: `${problem}; write it, or remove the folder`, code: 'missing_file' }] };
  }
  const whole = (problem: string, code: string): Read<T> => ({ ok: false, problems: [{ file: shownPath(dir, path), line: 1, column: 1, field: '', problem, code }] });
  if (/[\0\uFFFD]/.test(text)) return whole('is not text in UTF-8; write it again, or remove it', 'not_text');
  const document = parseDocument(text, { lineCounter: lines, strict: true, uniqueKeys: true, prettyErrors: false, stringKeys: true });
  const place = (offset: number, field: string, told: [problem: string, code: string]): FileProblem => {
    const { line, col } = lines.linePos(offset);
    return { file: shownPath(dir, path), line: line || 1, column: col || 1, field, problem: told[0], code: told[1] };
  };
  const at: At = (fieldPath, problem, code = 'invalid_value') => place(offsetOf(document, fieldPath), fieldOf(fieldPath), [problem, code]);
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0) return { ok: false, problems: broken.map((error) => place(error.pos[0], '', [cureOfYaml(error.code, error.message), YAML_CODES[error.code] ?? 'yaml'])) };
  if (document.contents === null) return whole('is empty; write it, or remove it', 'empty_file');
  const plain = plainOf(document);
  if (!plain.ok) return { ok: false, problems: [place(plain.offset, '', ['has aliases that unfold to far more than is written; write out what they stand for', 'too_many_aliases'])] };
  const parsed = schema.safeParse(plain.value, { reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data, at };
  return { ok: false, problems: parsed.error.issues.map((issue) => at(issue.path, wordsOf(issue), codeOf(issue))) };
};

const YAML_CODES: Readonly<Record<string, string>> = { DUPLICATE_KEY: 'duplicate_key', TAB_AS_INDENT: 'tab_indent' };

const cureOfYaml = (code: string, message: string): string => {
  if (code === 'DUPLICATE_KEY') return 'this key stands twice in one mapping; keep one of them';
  if (code === 'TAB_AS_INDENT') return 'a tab indents this line; use spaces';
  return `not valid YAML: ${message.split('\n')[0] ?? code}; correct it here, or shortly before`;
};
