import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { EVENTS } from '../../shared/telemetry/events.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const sources = ['shared', 'services'].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(ROOT, folder, name)))
  .filter((path) => path.endsWith('.ts') && !path.includes('/generated/'));

test('names of log events stand in one place, each once', () => {
  const named = sources.filter((path) => /\bevent: ['"`]/.test(readFileSync(path, 'utf8'))).map((path) => path.slice(ROOT.length));
  expect(named).toEqual([]);
  expect(new Set(Object.values(EVENTS)).size).toBe(Object.values(EVENTS).length);
});
