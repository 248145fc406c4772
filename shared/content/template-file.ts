import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { compilePart, LiquidError, renderPart } from './liquid.ts';
import { PARTS, withHash } from './template.ts';
import type { LocaleParts, Part, TemplateVersion } from './template.ts';
import { FileProblemsError, readFrom, readYamlFile, shownPath } from './yaml-file.ts';
import type { FileProblem } from './yaml-file.ts';

/** All faults in the templates of a folder. */
export class TemplateFileError extends FileProblemsError {}

const locale = z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a BCP 47 tag, such as en or de-AT');

const schema = z.strictObject({
  owner: z.literal('ours'),
  channel: z.enum(['sms', 'email']),
  classification: z.enum(['transactional', 'commercial', 'subscription']),
  variables: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/, 'a variable is named in lower case with underscores'), z.strictObject({
    type: z.enum(['string', 'url']),
    max: z.int().min(1).max(100_000),
    secret: z.boolean().optional(),
  })),
  locales: z.array(locale).min(1, 'must list at least one locale'),
  fallback_locale: locale,
});

/** Known without being declared: the eight characters of the attempt key, and whether a report is attached (yes or no). */
const GIVEN = ['ref', 'attached'];

const SAMPLES = { string: 'sample', url: 'https://example.com/' } as const;

/** Text files end in a line end; messages decide for themselves, so one is dropped here. */
const sourceOf = (path: string): string => readFileSync(path, 'utf8').replace(/\r\n/g, '\n').replace(/\n$/, '');

interface Place { file: string; line: number; column: number }
const at = (place: Place, field: string, problem: string): FileProblem => ({ ...place, field, problem });

const checkPart = (part: Part, source: string, file: string, variables: TemplateVersion['variables']): FileProblem[] => {
  const start = { file, line: 1, column: 1 };
  try {
    const compiled = compilePart(part, source);
    const found = compiled.reads.flatMap((name) => {
      if (!(name in variables) && !GIVEN.includes(name)) return [at(start, name, 'is not among the variables of template.yaml; declare it or correct its name')];
      if (part === 'subject' && variables[name]?.secret) return [at(start, name, 'is secret and may not stand in a subject; move it to the text')];
      return [];
    });
    if (/http:\/\//i.test(source)) found.push(at(start, '', 'holds an http link; write https, or take the link from a variable'));
    // Some faults show in a render only; a sample finds them now rather than when someone waits for the message.
    if (found.length === 0) renderPart(compiled, Object.fromEntries([...GIVEN.map((name) => [name, 'SAMPLE00']), ...Object.entries(variables).map(([name, rule]) => [name, SAMPLES[rule.type]])]));
    return found;
  } catch (error) {
    if (!(error instanceof LiquidError)) throw error;
    return [at({ file, line: error.line, column: error.column }, '', `${error.message}; correct the template`)];
  }
};

type Read = { template: TemplateVersion | null; problems: FileProblem[] };

const loadVersion = (dir: string, name: string, version: number): Read => {
  const folder = join(dir, name, String(version));
  const read = readYamlFile(join(folder, 'template.yaml'), schema, dir);
  if (!read.ok) return { template: null, problems: read.problems };
  const source = read.value;
  const problems: FileProblem[] = [];
  if (!source.locales.includes(source.fallback_locale)) problems.push(read.at(['fallback_locale'], 'is not among the locales; add it there, with its files'));
  const locales: Record<string, LocaleParts> = {};
  const expected = new Set(['template.yaml']);
  const present = readdirSync(folder);
  for (const tag of source.locales) {
    const parts: LocaleParts = {};
    for (const part of PARTS[source.channel]) {
      const file = `${part}.${tag}.liquid`;
      expected.add(file);
      if (present.includes(file)) {
        parts[part] = sourceOf(join(folder, file));
        problems.push(...checkPart(part, parts[part], shownPath(dir, join(folder, file)), source.variables));
      } else problems.push(read.at(['locales'], `list ${tag}, but ${file} is not there; write it or drop the locale`));
    }
    locales[tag] = parts;
  }
  for (const file of present.filter((one) => !expected.has(one))) {
    problems.push(at({ file: shownPath(dir, join(folder, file)), line: 1, column: 1 }, '', 'belongs to no listed locale and part; list its locale or remove it'));
  }
  const { owner, channel, classification, variables, fallback_locale: fallbackLocale } = source;
  return { template: withHash({ name, version, channel, owner, classification, variables, locales, fallbackLocale }), problems };
};

/**
 * Reads `<dir>/<name>/<version>/template.yaml` and the Liquid files beside it (`sms.en.liquid`; `subject`, `text` and `html`
 * for email), and checks each of them: syntax, filters, undeclared variables.
 * @returns all versions, ordered by name and version.
 * @throws TemplateFileError naming every fault of every file, with line and column; ConfigurationError where there is no such folder.
 */
export const loadTemplates = (dir: string): TemplateVersion[] => {
  const reads: Read[] = [];
  for (const name of readFrom(dir, 'TOCSIN_TEMPLATE_DIR', () => readdirSync(dir, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name)) {
    for (const version of readdirSync(join(dir, name))) {
      reads.push(/^[1-9]\d{0,5}$/.test(version) && /^[a-z][a-z0-9-]{0,63}$/.test(name)
        ? loadVersion(dir, name, Number(version))
        : { template: null, problems: [at({ file: shownPath(dir, join(dir, name, version)), line: 1, column: 1 }, '', 'is not of the form <name>/<version>/template.yaml; rename it')] });
    }
  }
  const problems = reads.flatMap((read) => read.problems);
  if (problems.length > 0) throw new TemplateFileError(problems);
  return reads.flatMap(({ template }) => (template ? [template] : [])).sort((one, other) => (one.name === other.name ? one.version - other.version : one.name < other.name ? -1 : 1));
};
