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

const isOpen = (text: string): boolean => (text.split('"').length - 1) % 2 === 1;

/**
 * The records of a CSV file. A quoted field may span lines. A record that is none costs its first line alone: the lines after it are read
 * anew, so that a stray quote never swallows its neighbours. Empty lines are left out.
 */
export const readCsv = async function* (lines: AsyncIterable<PhysicalLine>): AsyncGenerator<CsvRecord> {
  let held: PhysicalLine[] = [];
  const bad = (problem: string): CsvRecord => {
    const [{ number: line, bytes }] = held as [PhysicalLine];
    return { line, bytes, fields: null, problem };
  };
  /** Takes whole records from the front of what is held; at the end of the file also what is not closed. */
  const take = function* (isEnd: boolean): Generator<CsvRecord> {
    while (held.length > 0) {
      const [first] = held as [PhysicalLine];
      if (first.tooLong) yield bad(`is longer than ${LONGEST_LINE} characters`);
      else {
        let count = 1;
        let text = first.text;
        while (isOpen(text) && count < held.length && text.length <= LONGEST_LINE) text += `\n${(held[count++] as PhysicalLine).text}`;
        if (isOpen(text)) {
          if (!isEnd && text.length <= LONGEST_LINE) return;
          yield bad('opens a quote that is never closed');
        } else if (text !== '') {
          const fields = fieldsOf(text);
          if (fields) {
            yield { line: first.number, bytes: first.bytes, fields, problem: null };
            held = held.slice(count - 1);
          } else yield bad('is not CSV: a field with a quote must be quoted as a whole, with each quote in it doubled');
        }
      }
      held = held.slice(1);
    }
  };
  for await (const line of lines) {
    held.push(line);
    yield* take(false);
  }
  yield* take(true);
};
