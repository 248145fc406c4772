import { createTransport } from 'nodemailer';
import { startSandbox } from '../../services/sandbox/sandbox.ts';
import type { RunningSandbox, SandboxSettings } from '../../services/sandbox/sandbox.ts';

export const ACCOUNT = { accountSid: `AC${'5a'.repeat(16)}`, authToken: 'a-token' };
export const EVENT = 'evt_01JQZ3V9K8M7N6P5R4S3T2W1X0';
export const AUTHORIZATION = `Basic ${Buffer.from(`${ACCOUNT.accountSid}:${ACCOUNT.authToken}`).toString('base64')}`;

export const start = (settings: Partial<SandboxSettings> = {}): Promise<RunningSandbox> =>
  startSandbox({ httpPort: 0, smtpPort: 0, ...ACCOUNT, ...settings });

export const apiUrl = (sandbox: RunningSandbox, path: string): string => `${sandbox.httpUrl}/2010-04-01/Accounts/${ACCOUNT.accountSid}/${path}`;

export interface Sms { to: string; key?: string; body?: string; authorization?: string; signal?: AbortSignal }

/** One POST as a sender of SMS makes it. */
export const sendSms = (sandbox: RunningSandbox, { to, key = `${EVENT}.sms.1`, body = 'Server down', authorization = AUTHORIZATION, signal }: Sms): Promise<Response> =>
  fetch(apiUrl(sandbox, 'Messages.json'), {
    method: 'POST', headers: { authorization, 'tocsin-attempt-key': key }, body: new URLSearchParams({ To: to, From: '+12025550199', Body: body }),
    ...(signal ? { signal } : {}),
  });

export const readApi = (sandbox: RunningSandbox, path: string, signal?: AbortSignal): Promise<Response> =>
  fetch(apiUrl(sandbox, path), { headers: { authorization: AUTHORIZATION }, ...(signal ? { signal } : {}) });

export const json = async (response: Response): Promise<Record<string, unknown>> => await response.json() as Record<string, unknown>;

export const statusOf = async (sandbox: RunningSandbox, sid: unknown): Promise<unknown> => (await json(await readApi(sandbox, `Messages/${String(sid)}.json`))).status;

export const setScenario = (sandbox: RunningSandbox, body: unknown): Promise<Response> =>
  fetch(`${sandbox.httpUrl}/scenarios`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

export const setOutage = (sandbox: RunningSandbox, body: unknown): Promise<Response> =>
  fetch(`${sandbox.httpUrl}/outage`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

export interface Mail { to: string | string[]; key?: string; envid?: string; socketTimeout?: number; raw?: string }

/** One message over a connection of its own; rejects as nodemailer does, with `responseCode` where the server said one. */
export const sendMail = async (sandbox: RunningSandbox, { to, key = `${EVENT}.email.1`, envid, socketTimeout = 5_000, raw }: Mail): Promise<string> => {
  const { hostname, port } = new URL(sandbox.smtpUrl);
  const client = createTransport({ host: hostname, port: Number(port), secure: false, ignoreTLS: true, socketTimeout, greetingTimeout: socketTimeout });
  try {
    const sent = await client.sendMail({
      from: 'tocsin@example.com', to, subject: 'Server <down>', text: 'Please look', html: '<p>Please look</p>', messageId: `<${key}@example.com>`,
      ...(raw ? { raw, envelope: { from: 'tocsin@example.com', to } } : {}),
      ...(envid ? { dsn: { id: envid, return: 'headers', notify: ['never'] } } : {}),
    } as Parameters<typeof client.sendMail>[0]);
    return (sent as { response: string }).response;
  } finally {
    client.close();
  }
};

/** A clock that stands still until told. */
export const stoppedClock = (): { now: () => number; advance: (ms: number) => void } => {
  let at = Date.parse('2030-01-15T12:00:00Z');
  return { now: () => at, advance: (ms) => { at += ms; } };
};
