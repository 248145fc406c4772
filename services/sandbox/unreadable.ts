import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { problem } from './problem.ts';

/** The status under which a body parser refuses a body; null for a defect of ours. */
export const refusedStatus = (error: unknown): number | null => {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
};

const refuseBody = (response: Response, status: number, limit: unknown): void => {
  if (status === 413) problem(response, 'body_too_large', [{ field: 'body', detail: typeof limit === 'number' ? `must have at most ${limit.toLocaleString('en')} bytes` : 'is too long' }], 413);
  else if (status === 415) problem(response, 'body_unsupported', [{ field: 'body', detail: 'must be UTF-8, as it is or in gzip, deflate or br' }], 415);
  else problem(response, 'body_unreadable', [{ field: 'body', detail: 'must be JSON, whole and in UTF-8' }]);
};

/** Where a defect arose, and of what kind it is: its message may quote what was sent. */
const told = (error: unknown, { method }: Request): string => {
  const { name, stack } = (error instanceof Error ? error : {}) as Partial<Error>;
  return [`sandbox: ${method} failed: ${name ?? 'unknown'}`, ...(stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 12), ''].join('\n');
};

/** Comes last: what nobody else answered. Neither the answer nor what is written to standard error has anything of a body. */
export const failed: ErrorRequestHandler = (error: unknown, request, response, next) => {
  if (response.headersSent) return next(error);
  const status = refusedStatus(error);
  if (status !== null) return refuseBody(response, status, (error as { limit?: unknown }).limit);
  process.stderr.write(told(error, request));
  problem(response, 'internal_error', [{ field: 'the sandbox', detail: 'failed, and wrote to its standard error where' }], 500);
};

/** Before `failed`: an address that there is not. */
export const missing: RequestHandler = (_request, response) => problem(response, 'not_found', [{ field: 'the address', detail: 'is none of the sandbox; services/sandbox/README.md has them all' }], 404);
