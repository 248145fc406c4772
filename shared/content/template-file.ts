import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { compilePart, FILTERS, LiquidError, renderPart, TAGS } from './liquid.ts';
import { checkTemplate } from './template-check.ts';
import { hostField, ownerField, termFields, termsOf } from './template-terms.ts';
import { givesUnsubscribe, PARTS, UNSUBSCRIBE_VARIABLE, withHash } from './template.ts';
import type { LocaleParts, Part, TemplateVersion } from './template.ts';
import { FileProblemsError, isError, readFrom, readYamlFile, shownPath } from './yaml-file.ts';
import type { At, FileProblem } from './yaml-file.ts';

/** All faults in the templates of a folder. */
export class TemplateFileError extends FileProblemsError {}

const locale = z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a BCP 47 tag, such as en or de-AT');

/** A `template.yaml`; its JSON schema is published under `docs/schemas`. */
export const templateSchema = z.strictObject({
  owner: ownerField,
  channel: z.enum(['sms', 'email']),
  classification: z.enum(['transactional', 'commercial', 'subscription']),
  variables: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/, 'a variable is named in lower case with underscores'), z.strictObject({
    type: z.enum(['string', 'url']),
    max: z.int().min(1).max(100_000),
    secret: z.boolean().optional(),
    channels: z.array(z.enum(['sms', 'email'])).min(1).optional().describe('Channels that may carry a secret variable; email alone where it is left out'),
    hosts: z.array(hostField).min(1).optional().describe('url: hosts that the link may lead to; those of link_hosts where it is left out'),
  })),
  locales: z.array(locale).min(1, 'must list at least one locale'),
  fallback_locale: locale,
  ...termFields,
});

/** Known without being declared: the eight characters of the attempt key, the postal address of `template.yaml`, and whether a report is attached (yes or no). Some email also has the link to unsubscribe. */
const GIVEN = ['ref', 'postal_address', 'attached'];

const SAMPLES = { string: 'sample', url: 'https://example.com/' } as const;

/** Text files end in a line end; messages decide for themselves, so one is dropped here. */
const sourceOf = (path: string): string => readFileSync(path, 'utf8').replace(/\r\n/g, '\n').replace(/\n$/, '');

interface Place { file: string; line: number; column: number }
const at = (place: Place, field: string, [problem, code]: [string, string]): FileProblem => ({ ...place, field, problem, code });

const lineOf = (source: string, offset: number): number => source.slice(0, offset).split('\n').length;

const checkPart = (part: Part, source: string, file: string, template: Pick<TemplateVersion, 'channel' | 'classification' | 'variables'>): FileProblem[] => {
  const { variables } = template;
  const given = [...GIVEN, ...(givesUnsubscribe(template) ? [UNSUBSCRIBE_VARIABLE] : [])];
  try {
    const compiled = compilePart(part, source);
    const found = compiled.reads.flatMap(({ name, line, column }) => {
      const place = { file, line, column };
      if (!(name in variables) && !given.includes(name)) return [at(place, name, ['is not among the variables of template.yaml; declare it or correct its name', 'unknown_variable'])];
      if (part === 'subject' && variables[name]?.secret) return [at(place, name, ['is secret and may not stand in a subject; move it to the text', 'secret_in_subject'])];
      return [];
    });
    const insecure = source.search(/http:\/\//i);
    if (insecure >= 0) found.push(at({ file, line: lineOf(source, insecure), column: 1 }, '', ['holds an http link; write https, or take the link from a variable', 'http_link']));
    // Some faults show in a render only; a sample finds them now rather than when someone waits for the message.
    if (found.length === 0) renderPart(compiled, Object.fromEntries([...given.map((name) => [name, 'SAMPLE00']), ...Object.entries(variables).map(([name, rule]) => [name, SAMPLES[rule.type]])]));
    return found;
  } catch (error) {
    if (!(error instanceof LiquidError)) throw error;
    return [at({ file, line: error.line, column: error.column }, '', toldOf(error))];
  }
};

/** What a fault of the syntax is, and what to do about it. */
const toldOf = ({ message }: LiquidError): [string, string] => {
  if (message.startsWith('undefined filter')) return [`${message}; remove it, or use one of ${FILTERS.join(', ')}`, 'unknown_filter'];
  if (/not closed$/.test(message)) return [`${message}; close it`, 'unclosed_tag'];
  if (/^tag .* not found$/.test(message)) return [`${message}; remove it: a template may use ${TAGS.join(', ')}`, 'unknown_tag'];
  return [`${message}; correct the template`, 'liquid'];
};

/** A template version with the means to name places of its files. */
export interface ReadTemplate { template: TemplateVersion; at: At; /** A part's file as messages show it. */ fileOf: (part: Part, locale: string) => string }
interface Read { found: ReadTemplate | null; problems: FileProblem[] }

const loadVersion = (dir: string, name: string, version: number): Read => {
  const folder = join(dir, name, String(version));
  const read = readYamlFile(join(folder, 'template.yaml'), templateSchema, dir);
  if (!read.ok) return { found: null, problems: read.problems };
  const source = read.value;
  const problems: FileProblem[] = [];
  if (!source.locales.includes(source.fallback_locale)) problems.push(read.at(['fallback_locale'], 'is not among the locales; add it there, with its files', 'no_fallback_locale'));
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
        problems.push(...checkPart(part, parts[part], shownPath(dir, join(folder, file)), source));
      } else problems.push(read.at(['locales'], `list ${tag}, but ${file} is not there; write it or drop the locale`, 'missing_file'));
    }
    locales[tag] = parts;
  }
  for (const file of present.filter((one) => !expected.has(one))) {
    problems.push(at({ file: shownPath(dir, join(folder, file)), line: 1, column: 1 }, '', ['belongs to no listed locale and part; list its locale or remove it', 'stray_file']));
  }
  const { owner, channel, classification, variables, fallback_locale: fallbackLocale } = source;
  const terms = termsOf(source, source.locales);
  const template = withHash({ name, version, channel, owner, classification, variables, locales, fallbackLocale, ...(terms === undefined ? {} : { terms }) });
  const found = { template, at: read.at, fileOf: (part: Part, tag: string) => shownPath(dir, join(folder, `${part}.${tag}.liquid`)) };
  // What it says is looked at only where it can be read: a part that does not parse was told already.
  return problems.length > 0 ? { found: null, problems } : { found, problems: checkTemplate(found) };
};

/** All template versions of a folder whose texts can be rendered, ordered by name and version; every fault; and every version that has a folder. */
export interface ReadTemplates { read: ReadTemplate[]; problems: FileProblem[]; present: { name: string; version: number }[] }

/**
 * Reads `<dir>/<name>/<version>/template.yaml` and the Liquid files beside it (`sms.en.liquid`; `subject`, `text` and `html`
 * for email), and checks each of them: syntax, filters, undeclared variables.
 * @throws ConfigurationError where there is no such folder.
 */
export const readTemplates = (dir: string): ReadTemplates => {
  const reads: Read[] = [];
  const present: ReadTemplates['present'] = [];
  for (const name of readFrom(dir, 'TOCSIN_TEMPLATE_DIR', () => readdirSync(dir, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name)) {
    for (const version of readdirSync(join(dir, name))) {
      const isNamed = /^[1-9]\d{0,5}$/.test(version) && /^[a-z][a-z0-9-]{0,63}$/.test(name);
      if (isNamed) present.push({ name, version: Number(version) });
      reads.push(isNamed
        ? loadVersion(dir, name, Number(version))
        : { found: null, problems: [at({ file: shownPath(dir, join(dir, name, version)), line: 1, column: 1 }, '', ['is not of the form <name>/<version>/template.yaml; rename it', 'misnamed_file'])] });
    }
  }
  const byName = ({ template: one }: ReadTemplate, { template: other }: ReadTemplate): number => (one.name === other.name ? one.version - other.version : one.name < other.name ? -1 : 1);
  return { read: reads.flatMap(({ found }) => (found ? [found] : [])).sort(byName), problems: reads.flatMap((one) => one.problems), present };
};

/**
 * All template versions of a folder, ordered by name and version.
 * @throws TemplateFileError naming every fault of every file, with line and column; ConfigurationError where there is no such folder.
 */
export const loadTemplates = (dir: string): TemplateVersion[] => {
  const { read, problems } = readTemplates(dir);
  const errors = problems.filter(isError);
  if (errors.length > 0) throw new TemplateFileError(errors);
  return read.map(({ template }) => template);
};
