import { createReadStream } from 'node:fs';

/** Longer lines are no rows of an export; they are told and passed over, so that memory stays flat. */
export const LONGEST_LINE = 65_536;

/** A physical line without its end, numbered from 1. `tooLong` stands for one that was cut. `bytes` have been read so far. */
export interface PhysicalLine { number: number; text: string; tooLong: boolean; bytes: number }

/** The lines of a file, a chunk of it in memory at a time. A byte order mark in front is left out. */
export const readLines = async function* (path: string): AsyncGenerator<PhysicalLine> {
  let rest = '';
  let number = 0;
  let bytes = 0;
  let tooLong = false;
  const line = (text: string): PhysicalLine => {
    number += 1;
    const whole = number === 1 ? text.replace(/^\uFEFF/, '') : text;
    const found = { number, text: whole.replace(/\r$/, ''), tooLong: tooLong || whole.length > LONGEST_LINE, bytes };
    tooLong = false;
    return found;
  };
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 65_536 }) as AsyncIterable<string>) {
    bytes += Buffer.byteLength(chunk);
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) yield line(text);
    if (rest.length > LONGEST_LINE) {
      tooLong = true;
      rest = '';
    }
  }
  if (rest !== '' || tooLong) yield line(rest);
};
