import { insertApiKey, listApiKeys, revokeApiKey } from '../../shared/ledger/api-keys.ts';
import { createDatabaseClock } from '../../shared/ledger/database-clock.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { inheritStops } from '../../shared/ledger/inbound-words.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import type { Command } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { withLedger } from './ledger-session.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

const databaseNow = async (db: Database): Promise<number> => {
  const clock = createDatabaseClock(db);
  await clock.refresh();
  return clock.now();
};

export const keyCreateCommand: Command = {
  name: 'key create',
  summary: 'make an API key; it is shown once',
  args: [],
  options: {
    label: { value: 'L', help: 'what the key is for, as lists show it' },
    tenant: { value: 'T', help: 'whose notifications it may make and read (default: default)' },
  },
  examples: [['key create --label shop-backend', 'a key for POST /notifications']],
  run: async (input, io) => {
    const label = input.required('label');
    // Lists print it as it stands, so it must not be able to move the cursor or to look like a line of its own.
    if (!/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u.test(label) || label.trim() === '') throw new UsageError('--label must be one line of 1 to 100 visible characters', '--label');
    const tenant = input.text('tenant') ?? 'default';
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(tenant)) throw new UsageError('--tenant must be a short name in lower case: letters, digits, _ or -', '--tenant');
    return withLedger(io, async (db) => {
      const key = generateApiKey();
      // Before, so that no key works without them, and after, for what was said meanwhile.
      await inheritStops(db, tenant);
      await insertApiKey(db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant, label, now: await databaseNow(db) });
      await inheritStops(db, tenant);
      if (input.json) io.out.write(`${JSON.stringify({ id: key.id, tenant, label, api_key: key.text })}\n`);
      else io.out.write(`${key.text}\n\nThis is key ${key.id} of tenant ${tenant}. It is not shown again: keep it where secrets are kept.\n`);
      return 0;
    });
  },
};

export const keyListCommand: Command = {
  name: 'key list',
  summary: 'list the API keys; never the keys themselves',
  args: [],
  options: {},
  examples: [['key list', 'ids, tenants, labels, and which are revoked']],
  run: (input, io) => withLedger(io, async (db) => {
    const keys = await listApiKeys(db);
    if (input.json) {
      io.out.write(`${JSON.stringify({ keys: keys.map((key) => ({ id: key.id, tenant: key.tenant, label: key.label, created_at: key.createdAt.toISOString(), revoked_at: key.revokedAt?.toISOString() ?? null })) })}\n`);
    } else if (keys.length === 0) io.out.write('There is no key yet: npx tocsin key create --label …\n');
    else {
      io.out.write(`${table(['id', 'tenant', 'label', 'created', 'revoked'],
        keys.map((key) => [key.id, key.tenant, key.label, dateTime(key.createdAt.getTime()), key.revokedAt ? dateTime(key.revokedAt.getTime()) : '-']))}\n`);
    }
    return 0;
  }),
};

export const keyRevokeCommand: Command = {
  name: 'key revoke',
  summary: 'revoke an API key for good',
  args: [{ name: 'ID', help: 'id of the key, as `key list` shows it' }],
  options: {},
  examples: [['key revoke 0123456789ab', 'requests with that key get 401 from now on']],
  run: (input, io) => withLedger(io, async (db) => {
    const [id = ''] = input.args;
    if (!(await revokeApiKey(db, id, await databaseNow(db)))) {
      throw new Refusal('there is no live key with that id', { code: 'not_found', field: 'ID', cure: 'see `npx tocsin key list`; give the id, not the key' });
    }
    io.out.write(input.json ? `${JSON.stringify({ id, revoked: true })}\n` : `Key ${id} is revoked.\n`);
    return 0;
  }),
};
