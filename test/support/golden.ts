import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const UPDATE = process.env['TOCSIN_UPDATE_GOLDEN'] === '1';

/**
 * A text that was read and found right, kept in a file. With TOCSIN_UPDATE_GOLDEN=1 the file is written from what is found instead: read the
 * difference before it is committed.
 */
export const golden = (file: URL, found: string): string => {
  if (UPDATE) {
    mkdirSync(dirname(file.pathname), { recursive: true });
    writeFileSync(file, found);
  }
  return readFileSync(file, 'utf8');
};

/** Replaces what differs from run to run: instants by seconds since the acceptance, the event by a fixed word. */
export const steadied = (text: string, requestedAt: number): string => text
  .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/g, (instant) => `+${((Date.parse(instant) - requestedAt) / 1_000).toFixed(1)}s`)
  .replace(/evt_[0-9A-HJKMNP-TV-Z]{26}/g, 'evt_…');
