import { insertApiKey, listApiKeys, revokeApiKey } from '../../shared/ledger/api-keys.ts';
import { insertAudit } from '../../shared/ledger/audit-entries.ts';
import { inheritStops } from '../../shared/ledger/inbound-words.ts';
import { inTransaction } from '../../shared/ledger/transaction.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import { isScope, SCOPE_WORDS, SCOPES } from '../../shared/security/api-scopes.ts';
import type { Scope } from '../../shared/security/api-scopes.ts';
import type { Command, Input } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { withLedger } from './ledger-session.ts';
import { auditOf, withDesk } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

const scopesOf = (input: Input): Scope[] => {
  const given = input.list('scope').flatMap((one) => one.split(','));
  const unknown = given.find((one) => !isScope(one));
  if (unknown !== undefined) throw new UsageError(`--scope is one of ${SCOPES.join(', ')}`, '--scope');
  return given.length === 0 ? [...SCOPES] : SCOPES.filter((scope) => given.includes(scope));
};

const who = { actor: { value: 'A', help: 'who does it: a name or role, as the trail will say (default: cli)' } };

export const keyCreateCommand: Command = {
  name: 'key create',
  summary: 'make an API key; it is shown once',
  args: [],
  options: {
    label: { value: 'L', help: 'what the key is for, as lists show it' },
    tenant: { value: 'T', help: 'whose notifications it may make and read (default: default)' },
    scope: { value: 'S', repeatable: true, help: `what it is good for (default: everything): ${SCOPES.map((scope) => `${scope} (${SCOPE_WORDS[scope]})`).join(', ')}` },
    ...who,
  },
  examples: [['key create --label shop-backend', 'a key for the whole API'], ['key create --label reporting --tenant acme --scope feed:read', 'one that may read the change feed, and nothing else']],
  run: async (input, io) => {
    const label = input.required('label');
    // Lists print it as it stands, so it must not be able to move the cursor or to look like a line of its own.
    if (!/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u.test(label) || label.trim() === '') throw new UsageError('--label must be one line of 1 to 100 visible characters', '--label');
    const tenant = input.text('tenant') ?? 'default';
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(tenant)) throw new UsageError('--tenant must be a short name in lower case: letters, digits, _ or -', '--tenant');
    const scopes = scopesOf(input);
    const by = auditOf(input);
    return withDesk(io, async ({ db, now }) => {
      const key = generateApiKey();
      // Before, so that no key works without them, and after, for what was said meanwhile.
      await inheritStops(db, tenant);
      await inTransaction(db, async (tx) => {
        await insertApiKey(tx, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant, label, now: now(), scopes });
        await insertAudit(tx, by, [{ action: 'key.create', target: `${tenant}/${key.id}`, result: 'done' }], now());
      });
      await inheritStops(db, tenant);
      if (input.json) io.out.write(`${JSON.stringify({ id: key.id, tenant, label, scopes, api_key: key.text })}\n`);
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
      io.out.write(`${JSON.stringify({ keys: keys.map((key) => ({ id: key.id, tenant: key.tenant, label: key.label, scopes: key.scopes, created_at: key.createdAt.toISOString(), revoked_at: key.revokedAt?.toISOString() ?? null })) })}\n`);
    } else if (keys.length === 0) io.out.write('There is no key yet: npx tocsin key create --label …\n');
    else {
      io.out.write(`${table(['id', 'tenant', 'label', 'created', 'revoked', 'scopes'],
        keys.map((key) => [key.id, key.tenant, key.label, dateTime(key.createdAt.getTime()), key.revokedAt ? dateTime(key.revokedAt.getTime()) : '-', key.scopes.length === SCOPES.length ? 'all' : key.scopes.join(' ') || 'none']))}\n`);
    }
    return 0;
  }),
};

export const keyRevokeCommand: Command = {
  name: 'key revoke',
  summary: 'revoke an API key for good',
  args: [{ name: 'ID', help: 'id of the key, as `key list` shows it' }],
  options: who,
  examples: [['key revoke 0123456789ab', 'requests with that key get 401 from now on']],
  run: (input, io) => withDesk(io, async ({ db, now }) => {
    const [id = ''] = input.args;
    const by = auditOf(input);
    const revoked = await inTransaction(db, async (tx) => {
      const done = await revokeApiKey(tx, id, now());
      if (done) await insertAudit(tx, by, [{ action: 'key.revoke', target: id, result: 'done' }], now());
      return done;
    });
    if (!revoked) {
      throw new Refusal('there is no live key with that id', { code: 'not_found', field: 'ID', cure: 'see `npx tocsin key list`; give the id, not the key' });
    }
    io.out.write(input.json ? `${JSON.stringify({ id, revoked: true })}\n` : `Key ${id} is revoked.\n`);
    return 0;
  }),
};
