import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { startSandboxFor } from '../support/sandbox-providers.ts';
import { ACCOUNT, json, start } from './support.ts';

const SECRET = 'a-word-that-nobody-else-says';
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Longer than what any of these takes. */
const LONG = 2_000_000;
const KNOBS = ['/orders', '/scenarios', '/outage', '/inbound'];
const TWILIO = `/2010-04-01/Accounts/${ACCOUNT.accountSid}/Messages.json`;

describe('a body that the sandbox cannot read', () => {
  let sandbox: RunningSandbox;
  const written: string[] = [];
  const { NODE_ENV: env } = process.env;
  beforeAll(async () => {
    // In tests Express would keep to itself what it writes elsewhere.
    process.env['NODE_ENV'] = 'development';
    sandbox = await startSandboxFor({ originPort: 0 });
    for (const stream of [process.stdout, process.stderr]) jest.spyOn(stream, 'write').mockImplementation((chunk) => written.push(String(chunk)) > 0);
    jest.spyOn(console, 'error').mockImplementation((...told) => { written.push(told.join(' ')); });
  });
  afterAll(async () => {
    process.env['NODE_ENV'] = env;
    jest.restoreAllMocks();
    await sandbox.close();
  });
  const post = async (path: string, type: string, body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${sandbox.httpUrl}${path}`, { method: 'POST', headers: { 'content-type': type, ...headers }, body });
    const text = await response.text();
    expect([path, text.includes(SECRET) || /node_modules|\.js:\d|<html/.test(text)]).toEqual([path, false]);
    return { status: response.status, type: response.headers.get('content-type'), body: JSON.parse(text) as Record<string, unknown> };
  };

  it.each(KNOBS)('is a problem at %s that names the body, whatever is wrong with it', async (path) => {
    const type = 'application/problem+json; charset=utf-8';
    expect(await post(path, JSON_TYPE, `{"order": ${SECRET}`)).toMatchObject({ status: 400, type, body: { status: 400, code: 'body_unreadable', field: 'body' } });
    expect(await post(path, JSON_TYPE, JSON.stringify({ order: SECRET.repeat(LONG / SECRET.length) }))).toMatchObject({ status: 413, type, body: { status: 413, code: 'body_too_large', field: 'body', detail: expect.stringMatching(/at most [\d,]+ bytes/) } });
    expect(await post(path, JSON_TYPE, '{}', { 'content-encoding': 'frob' })).toMatchObject({ status: 415, type, body: { status: 415, code: 'body_unsupported' } });
  });

  it('is refused by each provider in its own shape', async () => {
    expect(await post(TWILIO, FORM_TYPE, `Body=${'x'.repeat(LONG)}`)).toMatchObject({ status: 413, body: { code: 20001, status: 413 } });
    expect(await post(TWILIO, `${FORM_TYPE}; charset=utf-7`, `Body=${SECRET}`)).toMatchObject({ status: 415, body: { code: 20001 } });
    expect(await post('/xms/v1/plan/batches', JSON_TYPE, `{"body": ${SECRET}`)).toMatchObject({ status: 400, body: { code: 'syntax_invalid_json' } });
    expect(await post('/xms/v1/plan/batches', JSON_TYPE, JSON.stringify({ body: 'x'.repeat(LONG) }))).toMatchObject({ status: 413, body: { code: 'syntax_constraint_violation' } });
    expect(await post('/emails', JSON_TYPE, '{}', { 'content-encoding': 'frob' })).toMatchObject({ status: 415, body: { statusCode: 415, name: 'validation_error' } });
  });

  it('leaves nothing in any log', async () => {
    await post('/orders', JSON_TYPE, `{"order": ${SECRET}`);
    expect(written.join('')).not.toMatch(/a-word|x{20}|SyntaxError/);
  });

  it('is told apart from an address that there is not', async () => {
    expect(await post('/frob', JSON_TYPE, '{}')).toMatchObject({ status: 404, body: { code: 'not_found', field: 'the address' } });
  });
});

describe('a defect of the sandbox', () => {
  it('is answered as one, and told by its name and place alone', async () => {
    const sandbox = await start({ now: () => { throw new TypeError(SECRET); } });
    const told = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const response = await fetch(`${sandbox.httpUrl}/messages`);
      expect([response.status, await json(response)]).toEqual([500, expect.objectContaining({ code: 'internal_error' })]);
      expect(told.mock.calls.map(([text]) => String(text)).join('')).toMatch(/^sandbox: GET failed: TypeError\n\s+at /);
      expect(told.mock.calls.join('')).not.toContain(SECRET);
    } finally {
      told.mockRestore();
      await sandbox.close();
    }
  });
});
