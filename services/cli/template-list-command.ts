import { readCliConfig } from '../../shared/config/cli-config.ts';
import { readTemplates } from '../../shared/content/template-file.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { listPolicyVersions, listTemplateVersions } from '../../shared/ledger/activations.ts';
import type { Command } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { readIfThere } from './optional-database.ts';
import { Refusal } from './refusal.ts';
import { table } from './table.ts';

interface Listed { template: TemplateVersion; publishedAt: Date | null; usedBy: string[] }

const json = ({ template, publishedAt, usedBy }: Listed) => ({
  name: template.name, version: template.version, owner: template.owner, channel: template.channel, classification: template.classification, locales: Object.keys(template.locales),
  fallback_locale: template.fallbackLocale, variables: template.variables, hash: template.hash, published_at: publishedAt?.toISOString() ?? null, used_by: usedBy,
});

const row = ({ template, publishedAt, usedBy }: Listed): string[] => [
  template.name, String(template.version), template.channel, template.classification, Object.keys(template.locales).join(' '), publishedAt ? dateTime(publishedAt.getTime()) : '-', usedBy.join(', ') || '-',
];

export const templateListCommand: Command = {
  name: 'template list',
  summary: 'list the template versions, and the active policies that use them',
  args: [{ name: 'TEMPLATE', help: 'only this template', optional: true }],
  options: {},
  examples: [
    ['template list', 'all versions; without a database those of the folder'],
    ['template list game-support-urgent-sms --json', 'with their variables, for programs'],
  ],
  run: async (input, io) => {
    const [name] = input.args;
    const stored = await readIfThere(io, async (db) => ({ templates: await listTemplateVersions(db), policies: await listPolicyVersions(db) }));
    const rows: Listed[] = (stored.value?.templates ?? []).map(({ definition, publishedAt }) => ({ template: definition as TemplateVersion, publishedAt, usedBy: [] }));
    for (const { template } of readTemplates(readCliConfig(io.env).templateDir).read) {
      if (!rows.some((one) => one.template.name === template.name && one.template.version === template.version)) rows.push({ template, publishedAt: null, usedBy: [] });
    }
    for (const { purpose, version, definition } of (stored.value?.policies ?? []).filter(({ active }) => active)) {
      for (const step of definition.steps) rows.find(({ template }) => template.name === step.template && template.version === step.templateVersion)?.usedBy.push(`${purpose}/${version}`);
    }
    const shown = rows.filter(({ template }) => name === undefined || template.name === name);
    if (shown.length === 0 && name !== undefined) throw new Refusal(`there is no template ${name}`, { code: 'not_found', field: 'TEMPLATE', cure: 'see `npx tocsin template list` for those there are' });
    shown.sort(({ template: one }, { template: other }) => (one.name === other.name ? one.version - other.version : one.name < other.name ? -1 : 1));
    if (input.json) io.out.write(`${JSON.stringify({ templates: shown.map(json), database: stored.missing === null })}\n`);
    else io.out.write(`${table(['template', 'version', 'channel', 'classification', 'locales', 'published', 'used by'], shown.map(row))}\n${stored.missing === null ? '' : `Only the folder was read: ${stored.missing}.\n`}`);
    return 0;
  },
};
