import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanUp, standaloneReady, startService, atTheEnd } from './child-service.ts';
import { until, within } from './waiting.ts';

// The shipped demo with its real clocks, as a newcomer runs it: one ticket to each on-call, and one while the SMS provider
// refuses connections. Takes about eighty seconds.

interface Expected { onCall: string; outage?: boolean; status: string; sms: number; email: number; kinds: string[] }
const EXPECTED: Expected[] = [
  { onCall: '01', status: 'delivered', sms: 1, email: 0, kinds: ['AttemptDelivered'] },
  { onCall: '02', status: 'sent', sms: 1, email: 1, kinds: ['AttemptUndelivered', 'FallbackClaimed'] },
  { onCall: '03', status: 'sent', sms: 1, email: 1, kinds: ['FallbackClaimed'] },
  { onCall: '04', status: 'delivered', sms: 1, email: 1, kinds: ['FallbackClaimed', 'AttemptDelivered'] },
  { onCall: '05', status: 'sent', sms: 0, email: 1, kinds: ['AttemptRejected', 'FallbackClaimed'] },
  { onCall: '06', status: 'delivered', sms: 1, email: 0, kinds: ['SubmissionDeferred', 'AttemptDelivered'] },
  { onCall: '07', status: 'sent', sms: 1, email: 1, kinds: ['SubmissionOutcomeUnknown', 'AttemptAdopted', 'FallbackClaimed'] },
  { onCall: '01', outage: true, status: 'delivered', sms: 1, email: 0, kinds: ['SubmissionDeferred', 'AttemptDelivered'] },
];
const MOST_LATE_MS = 500;

interface Entry { kind: string; at: string; details: Record<string, unknown> }
interface File { intake: string; sandbox: string; api_key: string }

const json = async (url: string, init: RequestInit = {}): Promise<Record<string, unknown>> => {
  const answer = await fetch(url, { ...init, headers: { 'content-type': 'application/json', accept: 'application/json', ...init.headers } });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return await answer.json() as Record<string, unknown>;
};
const tocsin = async (args: string[], dataDir: string): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['bin/tocsin.js', ...args], { env: { ...process.env, TOCSIN_DATA_DIR: dataDir } })).stdout;

/** How late each poll was answered and recorded, in ms after its due instant. */
const pollDelays = (entries: Entry[]): number[] => {
  const delays: number[] = [];
  let due: number | null = null;
  for (const { kind, at, details } of entries) {
    const read = details['source'] === 'poll' || details['source'] === 'look_up' || kind === 'AttemptAdopted';
    if (read && due !== null) delays.push(Date.parse(at) - due);
    if (kind === 'LookRequested') due = Date.parse(at);
    else if ('next_poll_at' in details) due = details['next_poll_at'] as number | null;
  }
  return delays;
};

const check = async (file: File, dataDir: string, one: Expected & { eventId: string }): Promise<{ line: string; faults: string[] }> => {
  const bearer = { authorization: `Bearer ${file.api_key}` };
  const view = await json(`${file.intake}/notifications/${one.eventId}`, { headers: bearer });
  const { entries } = await json(`${file.intake}/notifications/${one.eventId}/history`, { headers: bearer }) as unknown as { entries: Entry[] };
  const shown = JSON.parse(await tocsin(['show', one.eventId, '--json'], dataDir)) as Record<string, unknown>;
  const watched = (await tocsin(['watch', one.eventId, '--json'], dataDir)).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  const { messages } = await json(`${file.sandbox}/messages?limit=1000`) as unknown as { messages: { channel: string; attempt_key: string | null }[] };
  const received = (channel: string): number => messages.filter((message) => message.attempt_key?.startsWith(`${one.eventId}.${channel}.`)).length;
  const kinds = entries.map((entry) => entry.kind);
  const delays = pollDelays(entries);
  const claims = kinds.filter((kind) => kind === 'FallbackClaimed').length;
  const faults = [
    view['status'] === one.status ? '' : `status ${String(view['status'])} instead of ${one.status}`,
    shown['status'] === view['status'] ? '' : `show says ${String(shown['status'])}`,
    watched.filter((line) => 'status' in line).at(-1)?.['status'] === view['status'] ? '' : 'watch does not say the same',
    received('sms') === one.sms ? '' : `${received('sms')} SMS instead of ${one.sms}`,
    received('email') === one.email ? '' : `${received('email')} emails instead of ${one.email}`,
    claims <= 1 ? '' : `${claims} claims`,
    ...one.kinds.map((kind) => (kinds.includes(kind) ? '' : `no ${kind}`)),
    Math.max(0, ...delays) <= MOST_LATE_MS ? '' : `a poll came ${Math.max(...delays)} ms late`,
  ].filter((fault) => fault !== '');
  const name = `${one.onCall}${one.outage ? ', refused first' : ''}`;
  return { line: `${name.padEnd(18)} ${String(view['status']).padEnd(10)} sms ${received('sms')}  email ${received('email')}  polls ${String(delays.length).padStart(2)}  latest ${String(Math.max(0, ...delays)).padStart(3)} ms  ${faults.join('; ') || 'as it should be'}`, faults };
};

const run = async (): Promise<number> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tocsin-demo-'));
  const ports = { INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0' };
  const service = startService({ name: 'standalone', program: 'services/standalone/main.ts', env: { ...ports, TOCSIN_DATA_DIR: dataDir, ...(process.env.REDIS_URL ? { REDIS_URL: process.env.REDIS_URL } : {}) }, logPath: join(dataDir, 'demo.log'), readyIn: standaloneReady });
  atTheEnd(async () => { await service.stop(); rmSync(dataDir, { recursive: true, force: true }); });
  if (!(await within(60_000, service.ready))) throw new Error('the standalone did not get ready');
  const file = JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')) as File;
  const send = async (one: Expected): Promise<Expected & { eventId: string }> => {
    const receipt = await json(`${file.intake}/tickets`, { method: 'POST', body: JSON.stringify({ category: 'payment_lockout', message: 'locked out', region: 'US', locale: 'en-US', player_ref: `p-${one.onCall}`, on_call: one.onCall }) });
    return { ...one, eventId: String(receipt['event_id']) };
  };
  const sent = await Promise.all(EXPECTED.filter((one) => !one.outage).map(send));
  const bearer = { authorization: `Bearer ${file.api_key}` };
  const status = async (eventId: string): Promise<string> => String((await json(`${file.intake}/notifications/${eventId}`, { headers: bearer }))['status']);
  // The others have been submitted by then; from here on the provider refuses connections for a while.
  await until('the first submissions', async () => ((await Promise.all(sent.map((one) => status(one.eventId)))).every((one) => one !== 'accepted') ? true : null), { withinMs: 20_000 });
  await json(`${file.sandbox}/outage`, { method: 'POST', body: JSON.stringify({ channel: 'sms', kind: 'closed', forMs: 2_500 }) });
  sent.push(...await Promise.all(EXPECTED.filter((one) => one.outage).map(send)));
  process.stdout.write('eight tickets posted; waiting for their ends (about 75 s)\n');
  const ends = async (): Promise<true | null> => ((await Promise.all(sent.map((one) => status(one.eventId)))).every((found, index) => found === sent[index]?.status) ? true : null);
  await until('the expected ends', ends, { withinMs: 120_000, everyMs: 500 }).catch(() => process.stdout.write('not all ended as expected\n'));
  const lines = [];
  for (const one of sent) lines.push(await check(file, dataDir, one));
  process.stdout.write(`${lines.map(({ line }) => line).join('\n')}\n`);
  return lines.some(({ faults }) => faults.length > 0) ? 1 : 0;
};

const code = await run().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  return 1;
});
await cleanUp();
process.exit(code);
