import { z } from 'zod';
import type { Fault } from './problem.ts';
import { faultyFields } from './problem.ts';

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;
const HALF_PAIR = /\p{Surrogate}/u;

/** A text on one line: no control or invisible formatting characters, so that it can be a header, a log field or a key. */
export const oneLine = (most: number) => z.string()
  .refine((text) => PRINTABLE.test(text), 'has a line break or another control character')
  .refine((text) => text.trim() !== '', 'is empty')
  .refine((text) => text.length <= most, `has more than ${most} characters`);

/** A free text, kept as it came. Postgres text cannot hold NUL, and half a surrogate pair is no Unicode. */
export const freeText = (most: number) => z.string()
  .refine((text) => !text.includes('\u0000'), 'has a NUL character')
  .refine((text) => !HALF_PAIR.test(text), 'has half of a surrogate pair')
  .refine((text) => [...text].length <= most, `has more than ${most} characters`);

/** Two capital letters. */
export const regionField = z.string().regex(/^[A-Z]{2}$/, 'is not two capital letters');

/** A BCP 47 tag, in canonical form. */
export const localeField = z.string().transform((text, context) => {
  try {
    const [tag] = text.length <= 35 ? Intl.getCanonicalLocales(text) : [];
    if (tag !== undefined) return tag;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  context.addIssue({ code: 'custom', message: 'is not a BCP 47 language tag' });
  return z.NEVER;
});

/** What a function reads as something else, or refuses. */
export const readAs = <Value>(read: (text: string) => Value | null, problem: string) => z.string().transform((text, context) => {
  const value = read(text);
  if (value !== null) return value;
  context.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});

/** Cures by field; `*` for every other. */
export type Cures = Readonly<Record<string, string>>;

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined), value);

const cureOf = (field: string, cures: Cures): string => cures[field] ?? cures[field.replace(/\.[^.]+$/, '.*')] ?? cures['*'] ?? 'correct it';

const EXPECTED: Readonly<Record<string, string>> = { string: 'text', object: 'an object', array: 'a list', record: 'an object' };

const faultsOf = (issue: z.core.$ZodIssue, body: unknown, cures: Cures): Fault[] => {
  const at = (path: readonly PropertyKey[]): string => path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ field: at([...issue.path, key.slice(0, 80)]), problem: 'is not a field of this request', cure: 'remove it, or correct its name' }));
  }
  const field = at(issue.path);
  const missing = issue.code === 'invalid_type' && valueAt(body, issue.path) === undefined;
  const problem = missing ? 'is missing' : issue.code === 'invalid_type' ? `is not ${EXPECTED[issue.expected] ?? issue.expected}` : issue.message;
  return [{ field, problem, cure: field === '' ? 'send an object with the fields of this request' : cureOf(field, cures) }];
};

/**
 * Reads a body by its schema.
 * @throws Problem 400 naming every field at fault, what is wrong and what to do; never with what was sent.
 */
export const readFields = <Schema extends z.ZodType>(schema: Schema, body: unknown, cures: Cures): z.output<Schema> => {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const all = read.error.issues.flatMap((issue) => faultsOf(issue, body, cures));
  const faults = all.filter((fault, index) => all.findIndex((other) => other.field === fault.field) === index);
  const unknown = read.error.issues.every((issue) => issue.code === 'unrecognized_keys');
  throw faultyFields(faults, unknown ? 'unknown_field' : 'invalid_field');
};
