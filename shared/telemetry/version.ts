import { readFileSync } from 'node:fs';

/** The version of this Tocsin, as its package states it. */
export const productVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version;
