import type { PhysicalLine } from './export-lines.ts';
import { LONGEST_LINE } from './export-lines.ts';

export type CsvRecord = { line: number; bytes: number; fields: string[]; problem: null } | { line: number; bytes: number; fields: null; problem: string };

/**
 * The fields of one record, strictly as RFC 4180 has it: a field is quoted as a whole or holds no quote, and a quote in it is doubled.
 * Null where it is not so.
 */
const fieldsOf = (text: string): string[] | null => {
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|$)/y;
  for (;;) {
    const [whole, quoted, plain, end] = field.exec(text) ?? [];
    if (whole === undefined) return null;
    fields.push(quoted === undefined ? plain ?? '' : quoted.replaceAll('""', '"'));
    if (end === '') return fields;
  }
};

/** Whether a line leaves open, or closes, a quote: it has an odd number of them. */
const turns = (text: string): boolean => {
  let odd = false;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) odd = !odd;
  return odd;
};

type HeldLine = PhysicalLine & { turns: boolean };

/** How far a record reaches: over so many lines and characters; `open` while its quote is not closed. */
interface Reach { count: number; length: number; open: boolean }

/**
 * The records of a CSV file. A quoted field may span lines. A record that is none costs its first line alone: the lines after it are read
 * anew, so that a stray quote never swallows its neighbours. Empty lines are left out. Each line is looked at a bounded number of times, whatever quotes
 * it holds: how far a record reaches is kept while more lines come in.
 */
export const readCsv = async function* (lines: AsyncIterable<PhysicalLine>): AsyncGenerator<CsvRecord> {
  let held: HeldLine[] = [];
  let next = 0;
  let reach: Reach | null = null;
  const bad = ({ number: line, bytes }: PhysicalLine, problem: string): CsvRecord => ({ line, bytes, fields: null, problem });
  const reachOn = (): Reach => {
    const first = held[next] as HeldLine;
    reach ??= { count: 1, length: first.text.length, open: first.turns };
    while (reach.open && next + reach.count < held.length && reach.length <= LONGEST_LINE) {
      const line = held[next + reach.count] as HeldLine;
      reach.count += 1;
      reach.length += 1 + line.text.length;
      if (line.turns) reach.open = false;
    }
    return reach;
  };
  /** Takes whole records from the front of what is held; at the end of the file also what is not closed. */
  const take = function* (isEnd: boolean): Generator<CsvRecord> {
    while (next < held.length) {
      const first = held[next] as HeldLine;
      let taken = 1;
      if (first.tooLong) yield bad(first, `is longer than ${LONGEST_LINE} characters`);
      else {
        const { count, length, open } = reachOn();
        if (open && !isEnd && length <= LONGEST_LINE) return;
        if (open) yield bad(first, 'opens a quote that is never closed');
        else if (length > 0) {
          const fields = fieldsOf(held.slice(next, next + count).map(({ text }) => text).join('\n'));
          if (fields) {
            yield { line: first.number, bytes: first.bytes, fields, problem: null };
            taken = count;
          } else yield bad(first, 'is not CSV: a field with a quote must be quoted as a whole, with each quote in it doubled');
        }
      }
      next += taken;
      reach = null;
    }
  };
  /** In steps that grow with what is held, so that letting go costs each line once. */
  const letGo = (): void => {
    if (next * 2 < held.length) return;
    held = held.slice(next);
    next = 0;
  };
  for await (const line of lines) {
    held.push({ ...line, turns: turns(line.text) });
    yield* take(false);
    letGo();
  }
  yield* take(true);
};
