import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { providerTables } from './provider-tables.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOT_OURS = new Set(['node_modules', 'dist', 'coverage', 'generated', '.git', 'data']);
const READ = /\.(ts|mjs|js|md|sql|prisma|ya?ml|example)$|^(Dockerfile|Procfile|run)$/;

const filesBelow = (folder: string): string[] => readdirSync(`${ROOT}${folder}`, { withFileTypes: true }).flatMap((entry) => {
  const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
  if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(path);
  return READ.test(entry.name) ? [path] : [];
});

describe('the documentation', () => {
  it('has every page that a source or another page names', () => {
    const named = filesBelow('').flatMap((file) => [...readFileSync(`${ROOT}${file}`, 'utf8').matchAll(/(?<![\w/.-])docs\/[\w./-]*\.(?:md|svg|json)\b/g)].map(([page]) => ({ file, page })));
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ page }) => !existsSync(`${ROOT}${page}`))).toEqual([]);
  });

  it.each(Object.entries(providerTables()))('tells of the providers what the code goes by: %s', (heading, text) => {
    const page = readFileSync(`${ROOT}docs/providers.md`, 'utf8');
    const under = page.split(`\n### ${heading}\n`)[1] ?? page.split(`\n## ${heading}\n`)[1];
    expect(under?.split(/\n#{2,3} /)[0]).toContain(`\n${text}\n`);
  });
});
