import { readPolicies } from '../../shared/content/policy-file.ts';
import { checkPublished } from '../../shared/content/published-check.ts';
import { activationContext, publishedVersions } from '../../shared/delivery/activate-policy.ts';
import { openReason } from '../../shared/delivery/operator-reason.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { Activation, PolicyRecord } from '../../shared/ledger/activations.ts';
import { listActivations, listPolicyVersions } from '../../shared/ledger/activations.ts';
import { readCliConfig } from '../../shared/config/cli-config.ts';
import type { Command, Input } from './command.ts';
import { dateTime } from './entry-lines.ts';
import type { Io } from './io.ts';
import { withEngine } from './operator-engine.ts';
import { readIfThere } from './optional-database.ts';
import { Refusal } from './refusal.ts';
import { table } from './table.ts';

const HISTORY = 200;

interface Listed { purpose: string; version: number; policy: Policy; record: PolicyRecord | null; state: 'active' | 'published' | 'in the folder' | 'changed'; hash: string | null }

const listed = async (input: Input, io: Io): Promise<{ rows: Listed[]; missing: string | null }> => {
  const [purpose] = input.args;
  const { read } = readPolicies(readCliConfig(io.env).policyDir);
  const stored = await readIfThere(io, async (db) => ({ records: await listPolicyVersions(db), published: await publishedVersions(db) }));
  const changed = new Set(checkPublished({ policies: read, templates: [] }, stored.value?.published ?? []).map(({ file }) => file));
  const records = stored.value?.records ?? [];
  const rows: Listed[] = records.map((record) => ({ ...record, policy: record.definition, record, state: record.active ? 'active' : 'published' }));
  for (const { policy, file } of read) {
    const row = rows.find((one) => one.purpose === policy.purpose && one.version === policy.version);
    if (!row) rows.push({ purpose: policy.purpose, version: policy.version, policy, record: null, state: 'in the folder', hash: null });
    else if (changed.has(file)) row.state = 'changed';
  }
  rows.sort((one, other) => (one.purpose === other.purpose ? one.version - other.version : one.purpose < other.purpose ? -1 : 1));
  return { rows: rows.filter((one) => purpose === undefined || one.purpose === purpose), missing: stored.missing };
};

/** `active` is null where no database was read, which alone says so. */
const json = ({ purpose, version, policy, record, state, hash }: Listed, isRead: boolean) => ({
  purpose, version, state: state.replaceAll(' ', '_'), active: isRead ? record?.active ?? false : null, classification: policy.classification, urgency: policy.urgency,
  steps: policy.steps.map((step) => ({ name: step.name, channel: step.channel, template: step.template, template_version: step.templateVersion, shadow: step.shadow ?? false })),
  published_at: record?.publishedAt.toISOString() ?? null, hash,
  activated_at: record?.activation?.at.toISOString() ?? null, activated_by: record?.activation?.actor ?? null, reason: record?.activation?.reason ?? null,
});

const row = ({ purpose, version, policy, record, state }: Listed): string[] => [
  purpose, String(version), state, policy.steps.map((step) => `${step.channel}: ${step.template}/${step.templateVersion}${step.shadow ? ' (shadow)' : ''}`).join(', '),
  record ? dateTime(record.publishedAt.getTime()) : '-', record?.activation ? dateTime(record.activation.at.getTime()) : '-', record?.activation?.actor ?? '-', record?.activation?.reason ?? '-',
];

const activationJson = ({ purpose, version, at, actor, reason }: Activation, text: string) => ({ purpose, version, activated_at: at.toISOString(), actor, reason, text: text === reason ? null : text });

/** Every activation, with what was said of it opened. */
const history = (input: Input, io: Io): Promise<number> => withEngine(io, async (engine) => {
  const found = await listActivations(engine.db, { purpose: input.args[0], limit: HISTORY });
  const told = found.map((one) => ({ one, text: openReason(engine, activationContext(one.purpose), one) }));
  if (input.json) io.out.write(`${JSON.stringify({ activations: told.map(({ one, text }) => activationJson(one, text)) })}\n`);
  else if (told.length === 0) io.out.write('Nothing was activated yet.\n');
  else io.out.write(`${table(['activated', 'purpose', 'version', 'by', 'reason'], told.map(({ one, text }) => [dateTime(one.at.getTime()), one.purpose, String(one.version), one.actor, text]))}\n`);
  return 0;
});

export const policyListCommand: Command = {
  name: 'policy list',
  summary: 'list the policy versions: which are published, which one is active, and since when',
  args: [{ name: 'PURPOSE', help: 'only this purpose', optional: true }],
  options: { history: { help: `every activation instead, the newest first, at most ${HISTORY}, with its reason` } },
  examples: [
    ['policy list', 'all versions; without a database those of the folder'],
    ['policy list game-support-urgent --history', 'which version was active when, who made it so, and why'],
  ],
  run: async (input, io) => {
    if (input.flag('history')) return history(input, io);
    const { rows, missing } = await listed(input, io);
    if (rows.length === 0 && input.args[0] !== undefined) {
      throw new Refusal(`there is no policy of purpose ${input.args[0]}`, { code: 'not_found', field: 'PURPOSE', cure: 'see `npx tocsin policy list` for the purposes there are' });
    }
    if (input.json) io.out.write(`${JSON.stringify({ policies: rows.map((one) => json(one, missing === null)), database: missing === null })}\n`);
    else {
      io.out.write(`${table(['purpose', 'version', 'state', 'steps', 'published', 'activated', 'by', 'reason'], rows.map(row))}\n`);
      if (missing !== null) io.out.write(`Only the folder was read, since ${missing}: which versions are published, and which one is active, is not known.\n`);
      if (rows.some(({ state }) => state === 'changed')) io.out.write('A changed file differs from what was published: `npx tocsin policy lint` tells what to do.\n');
    }
    return 0;
  },
};
