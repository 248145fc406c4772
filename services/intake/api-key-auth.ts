import type { Request, RequestHandler, Response } from 'express';
import { createApiKeyFinder } from '../../shared/ledger/api-keys.ts';
import type { ApiKeyRow } from '../../shared/ledger/api-keys.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { apiKeyIdOf, hashApiKey } from '../../shared/security/api-key.ts';
import { Problem } from './problem.ts';

const unauthorized = (): Problem => new Problem({
  status: 401, code: 'unauthorized', headers: { 'WWW-Authenticate': 'Bearer realm="tocsin"' },
  detail: 'This needs a valid API key. Send it as "Authorization: Bearer tk_…".',
});

const presentedKey = (request: Request): string | null => /^Bearer +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1] ?? null;

/** Lets in whoever presents an API key that is not revoked. One answer for every other key, and for none. */
export const requireApiKey = (db: Database): RequestHandler => {
  const find = createApiKeyFinder(db);
  return async (request, response, next) => {
    const text = presentedKey(request);
    const key = text !== null && apiKeyIdOf(text) !== null ? await find(Buffer.from(hashApiKey(text), 'hex')) : null;
    if (key === null) throw unauthorized();
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
