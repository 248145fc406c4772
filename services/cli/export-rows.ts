import { z } from 'zod';
import { EVENT_ID } from '../../shared/domain/words.ts';
import { readCsv } from './csv-records.ts';
import { readLines } from './export-lines.ts';
import type { OldOutcome } from './outcome-words.ts';

/** One row of an old system's export. */
export interface ExportRow { line: number; eventId: string | null; idempotencyKey: string | null; channel: 'sms' | 'email'; outcome: OldOutcome; word: string }
export type ExportLine = { bytes: number } & ({ row: ExportRow } | { line: number; problem: string });

export const COLUMNS = ['event_id', 'idempotency_key', 'channel', 'outcome', 'at'] as const;
type Raw = Partial<Record<(typeof COLUMNS)[number], unknown>>;

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;
const instant = z.iso.datetime({ offset: true });

/** A word as a message may show it: never the cell of a wrong column. */
const quoted = (word: unknown): string => (typeof word === 'string' && /^[\w. -]{1,40}$/.test(word) ? `"${word}"` : 'what stands there');
const present = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null);
const isInstant = (value: unknown): boolean => (typeof value === 'number' || /^\d{12,14}$/.test(String(value)) ? Number.isSafeInteger(Number(value)) : instant.safeParse(value).success);

const rowOf = (line: number, raw: Raw, words: ReadonlyMap<string, OldOutcome>): { row: ExportRow } | { line: number; problem: string } => {
  const problem = (text: string) => ({ line, problem: text });
  const [eventId, idempotencyKey] = [present(raw.event_id), present(raw.idempotency_key)];
  if (eventId === null && idempotencyKey === null) return problem('has neither event_id nor idempotency_key');
  if (eventId !== null && !EVENT_ID.test(eventId)) return problem('has an event_id that is none (evt_ and 26 letters and digits)');
  if (idempotencyKey !== null && !KEY.test(idempotencyKey)) return problem('has an idempotency_key that is none (1 to 200 visible ASCII characters)');
  const channel = present(raw.channel)?.toLowerCase();
  if (channel !== 'sms' && channel !== 'email') return problem(`has the channel ${quoted(raw.channel)}, which is neither sms nor email`);
  const word = present(raw.outcome)?.toLowerCase() ?? '';
  const outcome = words.get(word);
  if (outcome === undefined) return problem(`has the outcome ${quoted(raw.outcome)}, which means nothing here; say what it means with --map WORD=OUTCOME`);
  if (!isInstant(typeof raw.at === 'string' ? raw.at.trim() : raw.at)) return problem('has no instant in at (ISO 8601 with a zone, or milliseconds since 1970)');
  return { row: { line, eventId, idempotencyKey, channel, outcome, word } };
};

/** A header that lacks a column makes every row bad at once. */
export class HeaderError extends Error {
  override readonly name = 'HeaderError';
}

const headerOf = (fields: readonly string[]): string[] => {
  const names = fields.map((name) => name.trim().toLowerCase());
  const lacking = ['channel', 'outcome', 'at'].filter((name) => !names.includes(name));
  if (!names.includes('event_id') && !names.includes('idempotency_key')) lacking.unshift('event_id or idempotency_key');
  if (lacking.length > 0) throw new HeaderError(`the header (line 1) lacks ${lacking.join(', ')}`);
  const twice = names.find((name, index) => (COLUMNS as readonly string[]).includes(name) && names.indexOf(name) < index);
  if (twice !== undefined) throw new HeaderError(`the header (line 1) names ${twice} twice`);
  return names;
};

const readCsvRows = async function* (path: string, words: ReadonlyMap<string, OldOutcome>): AsyncGenerator<ExportLine> {
  let header: string[] | null = null;
  for await (const { line, bytes, fields, problem } of readCsv(readLines(path))) {
    if (header === null) {
      if (fields === null) throw new HeaderError(`the header (line ${line}) ${problem}`);
      header = headerOf(fields);
    } else if (fields === null) yield { bytes, line, problem };
    else if (fields.length !== header.length) yield { bytes, line, problem: `has ${fields.length} fields, and the header ${header.length}` };
    else yield { bytes, ...rowOf(line, Object.fromEntries(header.map((name, index) => [name, fields[index]])) as Raw, words) };
  }
  if (header === null) throw new HeaderError('the file is empty: its first line must name the columns');
};

const objectOf = (text: string): Raw | null => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Raw : null;
  } catch {
    return null;
  }
};

const readJsonRows = async function* (path: string, words: ReadonlyMap<string, OldOutcome>): AsyncGenerator<ExportLine> {
  for await (const { number: line, text, tooLong, bytes } of readLines(path)) {
    if (text.trim() === '' && !tooLong) continue;
    const raw = tooLong ? null : objectOf(text);
    yield raw === null ? { bytes, line, problem: tooLong ? 'is longer than a row can be' : 'is not a JSON object' } : { bytes, ...rowOf(line, raw, words) };
  }
};

/**
 * The rows of an export, one after the other, each either read or with what is wrong with it: none is lost.
 * @throws HeaderError where the columns are not those that are needed.
 */
export const readExport = (path: string, format: 'csv' | 'jsonl', words: ReadonlyMap<string, OldOutcome>): AsyncGenerator<ExportLine> =>
  (format === 'csv' ? readCsvRows(path, words) : readJsonRows(path, words));
