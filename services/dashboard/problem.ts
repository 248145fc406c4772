import { STATUS_CODES } from 'node:http';
import type { Response } from 'express';

/** Answers a program with problem details (RFC 9457). `code` is stable; `detail` says what is wrong and what to do. */
export const sendProblem = (response: Response, status: number, { code, detail, ...members }: { code: string; detail: string } & Record<string, unknown>): void => {
  response.status(status).type('application/problem+json').send(JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, code, detail, ...members }));
};
