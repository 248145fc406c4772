import type { Request, RequestHandler, Response } from 'express';
import { createApiKeyFinder } from '../../shared/ledger/api-keys.ts';
import type { ApiKeyRow } from '../../shared/ledger/api-keys.ts';
import type { Database } from '../../shared/ledger/database.ts';
import type { Scope } from '../../shared/security/api-scopes.ts';
import { SCOPE_WORDS } from '../../shared/security/api-scopes.ts';
import { apiKeyIdOf, hashApiKey } from '../../shared/security/api-key.ts';
import { Problem } from './problem.ts';

const unauthorized = (): Problem => new Problem({
  status: 401, code: 'unauthorized', headers: { 'WWW-Authenticate': 'Bearer realm="tocsin"' },
  detail: 'This needs a valid API key. Send it as "Authorization: Bearer tk_…".',
});

const presentedKey = (request: Request): string | null => /^Bearer +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1] ?? null;

/** One answer for every id, also for those that are not there: a key learns nothing by being refused. */
const lacksScope = (scope: Scope, key: ApiKeyRow): Problem => new Problem({
  status: 403, code: 'insufficient_scope', headers: { 'WWW-Authenticate': `Bearer realm="tocsin", error="insufficient_scope", scope="${scope}"` },
  detail: `This API key may not do that: it lacks the scope ${scope} (${SCOPE_WORDS[scope]}). Use a key that has it, or make one: tocsin key create --scope ${scope} --label …`,
  members: { required_scope: scope, scopes: key.scopes },
});

/** Lets in whoever presents an API key that is not revoked and good for the scope. One answer for every other key, and for none. */
export const requireApiKey = (db: Database): ((scope: Scope) => RequestHandler) => {
  const find = createApiKeyFinder(db);
  return (scope) => async (request, response, next) => {
    const text = presentedKey(request);
    const key = text !== null && apiKeyIdOf(text) !== null ? await find(Buffer.from(hashApiKey(text), 'hex')) : null;
    if (key === null) throw unauthorized();
    if (!key.scopes.includes(scope)) throw lacksScope(scope, key);
    (response.locals as { apiKey?: ApiKeyRow }).apiKey = key;
    next();
  };
};

/** The key that `requireApiKey` let in. */
export const apiKeyOf = (response: Response): ApiKeyRow => {
  const { apiKey } = response.locals as { apiKey?: ApiKeyRow };
  if (!apiKey) throw new Error('a route of the API without its key check');
  return apiKey;
};
