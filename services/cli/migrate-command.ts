import { existsSync } from 'node:fs';
import { readTransportNames } from '../../shared/config/engine-config.ts';
import { readCliConfig, readOwnerUrl } from '../../shared/config/cli-config.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { unfitVersions } from '../../shared/delivery/unfit-versions.ts';
import type { UnfitVersion } from '../../shared/delivery/unfit-versions.ts';
import { APP_ROLE, openDatabase } from '../../shared/ledger/database.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { publishVersions } from '../../shared/ledger/versions.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { armFaultPoint, faultPoint } from '../../shared/telemetry/fault-points.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import type { Command } from './command.ts';
import type { Io } from './io.ts';
import { Refusal } from './refusal.ts';

/** What a folder holds; one that is not there is told as such. */
const loaded = <Version>(variable: string, folder: string, load: (folder: string) => Version[]): Version[] => {
  if (!existsSync(folder)) throw new Refusal(`the folder ${folder} is not there`, { code: 'no_such_folder', field: variable, cure: `correct ${variable}, or unset it to use the shipped ones` });
  return load(folder);
};

const publish = async (ownerUrl: string, folders: { policyDir: string; templateDir: string }, io: Io): Promise<{ policies: number; templates: number; unfit: UnfitVersion[] }> => {
  const policies = loaded('TOCSIN_POLICY_DIR', folders.policyDir, loadPolicies);
  const templates = loaded('TOCSIN_TEMPLATE_DIR', folders.templateDir, loadTemplates).map((one) => ({ name: one.name, version: one.version, definition: one }));
  const unfit = unfitVersions({ policyDir: folders.policyDir, templateDir: folders.templateDir, carriers: carriersFor(readTransportNames(io.env)) });
  const db = openDatabase({ url: ownerUrl, role: null, poolSize: 2 });
  try {
    await publishVersions(db, { policies, templates, unfit, now: Date.now() });
  } finally {
    await db.close();
  }
  return { policies: policies.length, templates: templates.length, unfit };
};

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'bring the database to the current schema and publish policies and templates',
  args: [],
  options: {},
  examples: [
    ['migrate', 'with MIGRATE_DATABASE_URL (the owner), else DATABASE_URL; may be repeated at any time'],
    ['migrate --json', 'which migrations were applied, for programs'],
  ],
  run: async (input, io) => {
    const config = readCliConfig(io.env);
    if (config.killAt !== undefined) armFaultPoint(config.killAt);
    const ownerUrl = readOwnerUrl(io.env, config);
    const say = (text: string): void => { if (!input.json) io.out.write(`${text}\n`); };
    const result = await migrate(ownerUrl, { onApplied: (name) => say(`applied ${name}`), beforeCommit: () => faultPoint('mid-migration') });
    say(result.applied.length === 0 ? `nothing to apply: all ${result.present.length} migrations are there` : `${result.applied.length} applied, ${result.present.length} had been there`);
    const queue = config.redisUrl === undefined ? 'postgres' : 'redis';
    if (queue === 'postgres') {
      await migrateQueueSchema(ownerUrl, APP_ROLE);
      say('the queue schema is current (queues on Postgres, since REDIS_URL is not set)');
    } else say('no queue schema is needed (queues on Redis)');
    const { unfit, ...published } = await publish(ownerUrl, config, io);
    for (const { purpose, version, why } of unfit.filter(({ tell }) => tell)) say(`not taken up by itself: ${purpose} ${version}\n${why}`);
    say(`published: ${published.policies} policy versions, ${published.templates} template versions`);
    if (input.json) io.out.write(`${JSON.stringify({ ...result, queue, published, not_taken_up: unfit.map(({ purpose, version, why }) => ({ purpose, version, why: why.split('\n') })) })}\n`);
    return 0;
  },
};
