import { readFileSync, writeFileSync } from 'node:fs';
import { readCliConfig } from '../../shared/config/cli-config.ts';
import { previewTemplate } from '../../shared/content/preview.ts';
import type { Preview } from '../../shared/content/preview.ts';
import { readTemplates } from '../../shared/content/template-file.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { listTemplateVersions } from '../../shared/ledger/activations.ts';
import type { Command, Input } from './command.ts';
import type { Io } from './io.ts';
import { readIfThere } from './optional-database.ts';
import { Refusal, UsageError } from './refusal.ts';

/** The folder's own file first: a preview is for what is being written. What is only published any more comes from the database. */
const findTemplate = async (text: string, io: Io): Promise<TemplateVersion> => {
  const [, name, number] = /^([a-z][a-z0-9-]*)(?:@([1-9]\d*))?$/.exec(text) ?? [];
  if (name === undefined) throw new UsageError('TEMPLATE must be a name such as game-support-urgent-sms, with or without @ and its version', 'TEMPLATE');
  const { read, problems } = readTemplates(readCliConfig(io.env).templateDir);
  const stored = await readIfThere(io, listTemplateVersions);
  const all = [...read.map(({ template }) => template), ...(stored.value ?? []).map(({ definition }) => definition as TemplateVersion)].filter((one) => one.name === name);
  const wanted = number === undefined ? Math.max(...all.map(({ version }) => version)) : Number(number);
  const found = all.find(({ version }) => version === wanted);
  if (found) return found;
  const faulty = problems.some(({ file }) => file.split('/')[1] === name);
  const known = [...new Set(all.map(({ version }) => version))];
  throw new Refusal(known.length === 0 ? `there is no template ${name}${faulty ? ' that can be read' : ''}` : `${name} has no version ${number ?? ''}; it has ${known.join(', ')}`, {
    code: 'not_found', field: 'TEMPLATE', cure: faulty ? 'see `npx tocsin template lint`' : 'see `npx tocsin template list` for those there are',
  });
};

const fromFile = (path: string): Record<string, unknown> => {
  try {
    const read: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new UsageError(`--variables ${path} cannot be read; name a JSON file, or write name=value`, '--variables');
  }
  throw new UsageError(`--variables ${path} holds no JSON object of names and texts`, '--variables');
};

/** Values out of files and `name=value`; the later ones win. */
const variablesOf = (input: Input, template: TemplateVersion): Record<string, string> => {
  const given: Record<string, unknown> = {};
  for (const text of input.list('variables')) {
    const cut = /^([a-z][a-z0-9_]*)=([\s\S]*)$/.exec(text);
    Object.assign(given, cut ? { [cut[1] as string]: cut[2] } : fromFile(text));
  }
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string') throw new UsageError(`--variables: ${name} must be a text`, '--variables');
    if (!Object.hasOwn(template.variables, name)) throw new UsageError(`--variables: ${template.name} ${template.version} declares no ${name}; it has ${Object.keys(template.variables).join(', ')}`, '--variables');
  }
  return given as Record<string, string>;
};

const LOCALE = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;

/** Whether a reader of that language gets the fallback, since the template has no text for it. */
const isFallback = (locale: string, asked: string | undefined): boolean => asked !== undefined && asked.toLowerCase().split('-')[0] !== locale.toLowerCase().split('-')[0];

const shown = (template: TemplateVersion, preview: Extract<Preview, { ok: true }>, { out, asked }: { out: string | undefined; asked: string | undefined }): string => {
  const { texts, sms, sampled } = preview;
  const lines = [`${template.name} ${template.version}, ${template.channel}, in ${preview.locale}`];
  if (isFallback(preview.locale, asked)) lines.push(`there is no text for ${asked}, so its reader gets ${preview.locale}; there are: ${Object.keys(template.locales).join(', ')}`);
  if (sampled.length > 0) lines.push(`samples stand for: ${sampled.join(', ')}`);
  if (sms) lines.push('', texts.sms ?? '', '', `${sms.segments} segment${sms.segments === 1 ? '' : 's'}, ${sms.characters} characters, ${sms.encoding}`);
  else lines.push('', `Subject: ${texts.subject ?? ''}`, '', texts.text ?? '', '', out === undefined ? 'The HTML part: --out FILE' : `The HTML part is in ${out}`);
  return `${lines.join('\n').replaceAll('\r\n', '\n')}\n`;
};

export const templatePreviewCommand: Command = {
  name: 'template preview',
  summary: 'show a message of a template, from sample values; nothing is sent',
  args: [{ name: 'TEMPLATE', help: 'its name, with @ and a version or the newest one' }],
  options: {
    locale: { value: 'L', help: 'language of the reader, e.g. de-AT (default: the template\'s fallback)' },
    variables: { value: 'V', repeatable: true, help: 'name=value, or a JSON file of names and texts; others get a sample' },
    out: { value: 'FILE', help: 'write the HTML part of an email there' },
  },
  examples: [
    ['template preview game-support-urgent-sms --locale de', 'the text, and how many segments it costs'],
    ['template preview game-support-urgent-email@1 --variables category=payment_lockout --out mail.html', 'subject and text; the HTML part in a file for a browser'],
  ],
  run: async (input, io) => {
    const template = await findTemplate(input.args[0] ?? '', io);
    const out = input.text('out');
    if (out !== undefined && template.channel !== 'email') throw new UsageError(`--out is for the HTML part of an email, and ${template.name} is for ${template.channel}`, '--out');
    const asked = input.text('locale');
    if (asked !== undefined && !LOCALE.test(asked)) throw new UsageError('--locale must be a language tag, such as en or de-AT', '--locale');
    const preview = previewTemplate(template, { locale: asked ?? template.fallbackLocale, variables: variablesOf(input, template) });
    if (!preview.ok) throw new Refusal(`${template.name} ${template.version} cannot be rendered: ${preview.problem}`, { code: 'not_renderable', field: 'TEMPLATE', cure: 'correct the value, or see `npx tocsin template lint`' });
    if (out !== undefined) writeFileSync(out, preview.texts.html ?? '');
    if (input.json) io.out.write(`${JSON.stringify({ name: template.name, version: template.version, channel: template.channel, locale: preview.locale, is_fallback: isFallback(preview.locale, asked), ...preview.texts, ...(preview.sms ?? {}), sampled: preview.sampled })}\n`);
    else io.out.write(shown(template, preview, { out, asked }));
    return 0;
  },
};
