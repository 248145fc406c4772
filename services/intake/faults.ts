import { z } from 'zod';
import { isBlank } from '../../shared/config/reason-text.ts';
import type { Fault } from './problem.ts';
import { Problem, WHOLE_BODY, faultyFields } from './problem.ts';

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;
const HALF_PAIR = /\p{Surrogate}/u;

/** A text on one line: no control or invisible formatting characters, so that it can be a header, a log field or a key. */
export const oneLine = (most: number) => z.string()
  .refine((text) => PRINTABLE.test(text), 'has a line break or another control character')
  .refine((text) => !isBlank(text), 'is empty')
  .refine((text) => text.length <= most, `has more than ${most} characters`)
  .meta({ minLength: 1, maxLength: most });

/** A free text, kept as it came. Postgres text cannot hold NUL, and half a surrogate pair is no Unicode. */
export const freeText = (most: number) => z.string()
  .refine((text) => !text.includes('\u0000'), 'has a NUL character')
  .refine((text) => !HALF_PAIR.test(text), 'has half of a surrogate pair')
  .refine((text) => text.length <= most || [...text].length <= most, `has more than ${most} characters`)
  .meta({ maxLength: most });

/** Two capital letters. */
export const regionField = z.string().regex(/^[A-Z]{2}$/, 'is not two capital letters');

const LONGEST_LOCALE = 35;
/** A deployment meets a few dozen; the bound is for whoever makes them up. */
const MOST_LOCALES = 200;
const knownLocales = new Map<string, string>();

/** The language, script and region of a tag, in canonical form; null where it is none. */
const readLocale = (text: string): string | null => {
  const known = knownLocales.get(text);
  if (known !== undefined) return known;
  if (text.length === 0 || text.length > LONGEST_LOCALE) return null;
  try {
    const { language, script, region } = new Intl.Locale(text);
    const read = [language, script, region].filter((part) => part !== undefined).join('-');
    if (knownLocales.size >= MOST_LOCALES) knownLocales.clear();
    knownLocales.set(text, read);
    return read;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

/** What a function reads as something else, or refuses. */
export const readAs = <Value>(read: (text: string) => Value | null, problem: string) => z.string().transform((text, context) => {
  const value = read(text);
  if (value !== null) return value;
  context.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});

/**
 * A BCP 47 tag, in canonical form and down to language, script and region. Variants, extensions and private use go: they choose no
 * template, and a caller could write any number into them, which a row that is never erased would then keep.
 */
export const localeField = readAs(readLocale, 'is not a BCP 47 language tag');

/** Cures by field; `*` for every other. */
export type Cures = Readonly<Record<string, string>>;

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined), value);

const cureOf = (field: string, cures: Cures): string => cures[field] ?? cures[field.replace(/\.[^.]+$/, '.*')] ?? cures['*'] ?? 'correct it';

const EXPECTED: Readonly<Record<string, string>> = { string: 'text', object: 'an object', array: 'a list', record: 'an object' };

/** Long enough to find the field by; a name is the sender's text, and an answer must stay small whatever was sent. */
const SHOWN_NAME = 60;
const fieldName = (path: readonly PropertyKey[]): string => {
  const name = path.slice(0, 8).map((key) => String(key).slice(0, SHOWN_NAME)).join('.').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  return name.length <= SHOWN_NAME ? name : `${name.slice(0, SHOWN_NAME)}…`;
};

/** Another type than expected. A query or a form that names a field twice makes a list of it. */
const wrongType = (expected: string, value: unknown): string => {
  if (value === undefined) return 'is missing';
  return expected === 'string' && Array.isArray(value) ? 'is a list, or was given more than once' : `is not ${EXPECTED[expected] ?? expected}`;
};

const faultsOf = (issue: z.core.$ZodIssue, body: unknown, cures: Cures): Fault[] => {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ field: fieldName([...issue.path, key]), problem: 'is not a field of this request', cure: 'remove it, or correct its name' }));
  }
  const field = issue.path.length === 0 ? WHOLE_BODY : fieldName(issue.path);
  const problem = issue.code === 'invalid_type' ? wrongType(issue.expected, valueAt(body, issue.path)) : issue.message;
  return [{ field, problem, cure: field === WHOLE_BODY ? 'send an object with the fields of this request' : cureOf(field, cures) }];
};

/** One fault per field: the first that was found. */
const firstOfEach = (faults: readonly Fault[]): Fault[] => {
  const byField = new Map<string, Fault>();
  for (const fault of faults) if (!byField.has(fault.field)) byField.set(fault.field, fault);
  return [...byField.values()];
};

const isObject = (body: unknown): boolean => typeof body === 'object' && body !== null && !Array.isArray(body);

/**
 * Reads a body by its schema.
 * @throws Problem 400 naming the fields at fault, what is wrong and what to do; never with what was sent. A body that is no
 * object is told which fields it should have had.
 */
export const readFields = <Schema extends z.ZodType>(schema: Schema, body: unknown, cures: Cures): z.output<Schema> => {
  const given = isObject(body) ? body : {};
  const read = schema.safeParse(given);
  if (read.success && given === body) return read.data;
  const issues = read.error?.issues ?? [];
  const faults = firstOfEach(issues.flatMap((issue) => faultsOf(issue, given, cures)));
  const unknown = issues.length > 0 && issues.every((issue) => issue.code === 'unrecognized_keys');
  const problem = faultyFields(faults, unknown ? 'unknown_field' : 'invalid_field');
  throw given === body ? problem : new Problem({ ...problem.details, detail: `The body is not an object of fields. ${problem.details.detail}` });
};
