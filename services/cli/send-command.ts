import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { readCliConfig, readIntakeAccess } from '../../shared/config/cli-config.ts';
import type { Command, Input } from './command.ts';
import type { Io } from './io.ts';
import { postToIntake } from './post-intake.ts';
import { DEMO_NAMES, demoOf } from './demo.ts';
import { Refusal, UsageError } from './refusal.ts';
import { readReport, storeReport } from './store-report.ts';
import { expiryOf, refuseBesideDemo, sendRequest } from './send-request.ts';

const fileText = async (input: Input, io: Io): Promise<string | null> => {
  const path = input.text('json-file');
  if (path === undefined) return null;
  if (path === '-') return io.readInput();
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new UsageError(`--json-file ${path} cannot be read`, '--json-file');
  }
};

/** What reads the surroundings knows the URL by its variable alone, and would name that. */
const refuseOddUrl = (input: Input): void => {
  const url = input.text('url');
  if (url !== undefined && !(/^https?:\/\//i.test(url) && URL.canParse(url))) throw new UsageError('--url must be an http(s) URL, such as http://127.0.0.1:3000', '--url');
};

const receiptText = (receipt: Record<string, unknown>, { idempotencyKey, hints }: { idempotencyKey: string; hints: string | undefined }): string => {
  const rows = Object.entries({ ...receipt, idempotency_key: idempotencyKey }).filter(([, value]) => value !== null && typeof value !== 'object');
  const next = typeof receipt['event_id'] === 'string' ? `\n\nnext: npx tocsin watch ${receipt['event_id']}` : '';
  const more = hints === undefined ? '' : `\n\n${hints.replaceAll('EVENT', String(receipt['event_id']))}`;
  return `${rows.map(([name, value]) => `${name.padEnd(16)} ${String(value)}`).join('\n')}${next}${more}\n`;
};

export const sendCommand: Command = {
  name: 'send',
  summary: 'hand a notification (or a support ticket) to the intake, over HTTP',
  args: [{ name: 'PURPOSE', help: 'why; the same as --purpose', optional: true }],
  options: {
    purpose: { value: 'P', help: 'why, e.g. game-support-urgent' },
    ref: { value: 'R', help: 'your own reference of the recipient' },
    sms: { value: 'NUMBER', help: 'with + and country code' },
    email: { value: 'ADDRESS', help: 'where the email goes' },
    region: { value: 'XX', help: 'two capital letters (default: US)' },
    locale: { value: 'TAG', help: 'language of the text (default: en)' },
    consent: { value: 'C', repeatable: true, help: 'channel:basis[:reference], e.g. sms:on_call_duty' },
    var: { value: 'NAME=VALUE', repeatable: true, help: 'a variable of the template' },
    demo: { help: `everything else made up for the sandbox; for ${DEMO_NAMES.join(', ')}` },
    report: { value: 'FILE', help: 'stored first, and carried by the notification' },
    subject: { value: 'S', help: 'what it is about' },
    'expires-in': { value: 'D', help: 'after which nothing is started, e.g. 20m (default: the policy\'s)' },
    'idempotency-key': { value: 'K', help: 'the same key and body are one notification (default: a new one, printed)' },
    'json-file': { value: 'FILE', help: 'the whole body as JSON; - reads standard input' },
    'precondition-url': { value: 'URL', help: 'asked before a step whose policy wants it: does it still need action?' },
    outcome: { value: 'N', help: 'of a demo: 01 … 07, as the inbox lists them (default: 01, delivered)' },
    ticket: { help: 'post the support form instead' },
    category: { value: 'C', help: 'of a ticket, e.g. payment_lockout' },
    message: { value: 'M', help: 'of a ticket: what the player writes' },
    player: { value: 'REF', help: 'of a ticket: the player\'s reference' },
    'on-call': { value: 'N', help: 'of a ticket, demo only: 01 … 07, each with an outcome of its own' },
    url: { value: 'URL', help: 'the intake (default: TOCSIN_URL, else the running standalone)' },
    'api-key': { value: 'KEY', help: 'better in TOCSIN_API_KEY, where no list of processes shows it' },
  },
  examples: [
    ['send --ticket --category payment_lockout --message "charged twice" --player p-1001 --on-call 03', 'a ticket whose SMS is never confirmed: email follows'],
    ['send seller-order --demo', 'an order that waits for its seller: an email, then a text once the shop was asked'],
    ['send account-report --demo', 'an email with a report and an SMS, to the sandbox'],
    ['send --purpose password-reset --ref player-7 --sms +12025550101 --email a@example.com --consent email:contract --consent sms:contract --expires-in 20m --var service=Harbour --var host=accounts.example.com --var valid_until="18:30 UTC" --var reset_url=https://accounts.example.com/reset/4711 --var reset_code=204317', 'a notification of your own; what a purpose needs is said where it is missing'],
    ['cat body.json | npx tocsin send --json-file - --idempotency-key order-4711', 'the whole body from a program'],
  ],
  run: async (input, io) => {
    const config = readCliConfig(io.env);
    const purpose = input.args[0] ?? input.text('purpose');
    const named = {
      ...input, text: (name: string) => (name === 'purpose' ? purpose : input.text(name)),
      required: (name: string) => (name === 'purpose' && purpose !== undefined ? purpose : input.required(name)),
    };
    const now = Date.now();
    refuseBesideDemo(input);
    refuseOddUrl(input);
    const demo = input.flag('demo') ? await demoOf(purpose, { outcome: input.text('outcome') ?? '01', standalone: config.standalone, now, expiresAt: expiryOf(input, now) }) : null;
    const request = demo?.request ?? sendRequest(named, await fileText(input, io), now);
    const path = input.text('report');
    const report = path === undefined ? demo?.report : await readReport(path);
    const access = readIntakeAccess(io.env, config, { url: input.text('url'), apiKey: input.text('api-key') });
    if (request.needsKey && access.apiKey === null) {
      throw new Refusal('POST /notifications needs an API key', { code: 'no_api_key', field: '--api-key', cure: 'make one with `npx tocsin key create --label …` and give it as TOCSIN_API_KEY' });
    }
    // A header can carry nothing else, and fetch would only say that it failed.
    if (!/^[\x21-\x7e]{1,255}$/.test(input.text('idempotency-key') ?? 'new')) throw new UsageError('--idempotency-key must be 1 to 255 printable ASCII characters without spaces', '--idempotency-key');
    const idempotencyKey = input.text('idempotency-key') ?? `cli-${randomUUID()}`;
    const artifacts = report && access.apiKey !== null ? [await storeReport(access.url, access.apiKey, report)] : null;
    const receipt = await postToIntake(`${access.url}${request.path}`, { body: artifacts ? { ...request.body, artifacts } : request.body, idempotencyKey, apiKey: request.needsKey ? access.apiKey : null });
    io.out.write(input.json ? `${JSON.stringify({ ...receipt, idempotency_key: idempotencyKey })}\n` : receiptText(receipt, { idempotencyKey, hints: demo?.hints }));
    return 0;
  },
};
