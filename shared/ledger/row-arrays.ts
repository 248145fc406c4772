import type { Instant } from '../domain/words.ts';

/** Types of columns that a row can bring along, by the numbers under which every Postgres knows them. */
const OIDS = { boolean: 16, bytea: 17, integer: 23, text: 25, json: 114, timestamptz: 1184, jsonb: 3802 } as const;
type ColumnType = keyof typeof OIDS;

interface Column { name: string; type: ColumnType }

/** A row as it is handed over: instants in milliseconds, bytes as they are, JSON as a value; what is not there is null. */
export type Row = Readonly<Record<string, unknown>>;

const parse = (columns: string): Column[] => columns.split(',').map((column) => {
  const [name = '', type = ''] = column.trim().split(/\s+/);
  if (!Object.hasOwn(OIDS, type)) throw new Error(`no column can be sent as ${type}: ${name}`);
  return { name, type: type as ColumnType };
});

/** Postgres counts from the year 2000, in microseconds. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const TWO_32 = 2 ** 32;
/** Up to this length a text is written faster unit by unit than by a call out of JavaScript. */
const SHORT = 16;

/** Where a statement's rows are written before they are sent; grows with the largest of them. One for the process: nothing is written in two places at once. */
let bytes = Buffer.allocUnsafeSlow(1 << 18);
let end = 0;

const room = (length: number): void => {
  if (end + length <= bytes.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, end + length));
  bytes.copy(larger, 0, 0, end);
  bytes = larger;
};
const writeInteger = (value: number, at: number): void => {
  const to = bytes;
  to[at] = value >>> 24;
  to[at + 1] = value >>> 16;
  to[at + 2] = value >>> 8;
  to[at + 3] = value;
};
const putInteger = (value: number): void => {
  writeInteger(value, end);
  end += 4;
};

const putText = (text: unknown): void => {
  if (typeof text !== 'string') throw new TypeError(`not a text: ${typeof text}`);
  // Asked for once: texts are of many kinds inside, and of which kind one is has to be found out each time.
  const { length } = text;
  // A unit of a string is at most three bytes.
  room(4 + length * 3);
  const at = end;
  end += 4;
  if (length > SHORT || !putShort(text, length)) end = at + 4 + bytes.write(text, at + 4);
  writeInteger(end - at - 4, at);
};
/** Writes what is ASCII throughout; false where it is not, and then nothing counts as written. */
const putShort = (text: string, length: number): boolean => {
  const to = bytes;
  const at = end;
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return false;
    to[at + index] = unit;
  }
  end += length;
  return true;
};
const putBytes = (value: Uint8Array): void => {
  room(4 + value.length);
  putInteger(value.length);
  bytes.set(value, end);
  end += value.length;
};
const putInstant = (at: Instant): void => {
  if (!Number.isFinite(at)) throw new RangeError('an instant that is none');
  room(12);
  putInteger(8);
  const micros = Math.round((at - EPOCH_MS) * 1_000);
  const high = Math.floor(micros / TWO_32);
  putInteger(high);
  putInteger(micros - high * TWO_32);
};
const putWhole = (value: number): void => {
  if ((value | 0) !== value) throw new RangeError(`not a whole number of 32 bits: ${value}`);
  room(8);
  putInteger(4);
  putInteger(value);
};
const JSONB_VERSION = '\u0001';

const put: Record<ColumnType, (value: unknown) => void> = {
  text: putText,
  integer: (value) => putWhole(value as number),
  boolean: (value) => { room(5); putInteger(1); bytes[end] = value === true ? 1 : 0; end += 1; },
  timestamptz: (value) => putInstant(value as Instant),
  bytea: (value) => putBytes(value as Uint8Array),
  json: (value) => putText(JSON.stringify(value)),
  jsonb: (value) => putText(JSONB_VERSION + JSON.stringify(value)),
};

/** An array of one column in the protocol's binary form: dimensions, whether any is null, the type; then how many, the first index, and each with its length. */
const putArray = ({ name, type }: Column, rows: readonly Row[]): void => {
  room(20);
  putInteger(rows.length === 0 ? 0 : 1);
  putInteger(1);
  putInteger(OIDS[type]);
  if (rows.length === 0) return;
  putInteger(rows.length);
  putInteger(1);
  const write = put[type];
  for (const row of rows) {
    const value = row[name];
    if (value === null || value === undefined) {
      room(4);
      putInteger(-1);
    } else {
      write(value);
    }
  }
};

export interface RowSources<Kind extends string> {
  /** The rows of a kind, as something to select from. */
  from: (kind: Kind) => string;
}
/** The kinds of rows that a statement takes, and where among its parameters their columns stand. */
export interface RowArrays<Kind extends string> extends RowSources<Kind> {
  /** The parameters, from the first of them on: one for each column of each kind, in the binary form. */
  values: (rows: Readonly<Record<Kind, readonly Row[]>>) => Buffer[];
}

/**
 * Rows as parameters: an array for each column, spread side by side again. JSON would have to be read by the server twice, as a whole and
 * row by row, which was a third of the price of a grouped append.
 * @param columns `name type, …` of each kind, as SQL declares them.
 */
export const rowArrays = <Kind extends string>(first: number, columns: Readonly<Record<Kind, string>>): RowArrays<Kind> => {
  const parsed = (Object.keys(columns) as Kind[]).map((kind) => [kind, parse(columns[kind])] as const);
  let next = first;
  const sources = new Map(parsed.map(([kind, all]) => [kind, `(SELECT ${all.map(({ name, type }) => `unnest($${next++}::${type}[]) AS ${name}`).join(', ')})`]));
  return {
    from: (kind) => sources.get(kind) as string,
    values: (rows) => {
      end = 0;
      const ends: number[] = [];
      for (const [kind, all] of parsed) {
        for (const column of all) {
          putArray(column, rows[kind]);
          ends.push(end);
        }
      }
      // The driver may send them later: they are their own from here on.
      const sent = Buffer.from(bytes.subarray(0, end));
      return ends.map((to, index) => sent.subarray(index === 0 ? 0 : ends[index - 1], to));
    },
  };
};
