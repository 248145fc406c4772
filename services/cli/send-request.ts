import { parseDuration } from '../../shared/content/duration.ts';
import type { Input } from './command.ts';
import { UsageError } from './refusal.ts';

export interface SendRequest { path: string; body: Record<string, unknown>; needsKey: boolean }

const defined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const variablesOf = (pairs: string[]): Record<string, string> => Object.fromEntries(pairs.map((pair): [string, string] => {
  const cut = pair.indexOf('=');
  if (cut < 1) throw new UsageError('--var must be name=value', '--var');
  return [pair.slice(0, cut), pair.slice(cut + 1)];
}));

const consentOf = (texts: string[]): (string | Record<string, string>)[] => texts.map((text) => {
  const [, channel, basis, reference] = /^(sms|email):([A-Za-z0-9_-]+)(?::(.+))?$/.exec(text) ?? [];
  if (channel === undefined || basis === undefined) throw new UsageError('--consent must be channel:basis or channel:basis:reference, such as sms:on_call_duty', '--consent');
  return reference === undefined ? text : { channel, basis, reference };
});

/** When it expires, where `--expires-in` says so. @throws UsageError. */
export const expiryOf = (input: Input, now: number): string | undefined => {
  const text = input.text('expires-in');
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === null || ms <= 0) throw new UsageError('--expires-in must be a duration with its unit, such as 20m', '--expires-in');
  return new Date(now + ms).toISOString();
};

/** The body of `POST /notifications` from options. @throws UsageError. */
const notificationFrom = (input: Input, now: number): SendRequest => ({
  path: '/notifications', needsKey: true,
  body: defined({
    purpose: input.required('purpose'),
    recipient: defined({
      ref: input.required('ref'), sms: input.text('sms'), email: input.text('email'), region: input.text('region') ?? 'US',
      locale: input.text('locale') ?? 'en', consent: consentOf(input.list('consent')),
    }),
    subject: input.text('subject'), variables: variablesOf(input.list('var')), expires_at: expiryOf(input, now),
    precondition_url: input.text('precondition-url'),
  }),
});

/** The body of `POST /tickets` from options. @throws UsageError. */
const ticketFrom = (input: Input): SendRequest => ({
  path: '/tickets', needsKey: false,
  body: defined({
    category: input.required('category'), message: input.required('message'), player_ref: input.required('player'),
    region: input.text('region') ?? 'US', locale: input.text('locale') ?? 'en', on_call: input.text('on-call'),
  }),
});

/** What a demo makes up by itself, besides the purpose and the expiry. */
const CONTENT = ['ref', 'sms', 'email', 'subject', 'precondition-url', 'consent', 'var'];
const NOTIFICATION_ONLY = ['purpose', 'expires-in', ...CONTENT];
const TICKET_ONLY = ['category', 'message', 'player', 'on-call'];
const READER = ['region', 'locale'];

const isGiven = (input: Input, name: string): boolean => input.text(name) !== undefined || input.list(name).length > 0 || input.flag(name);

const refuseStrays = (input: Input, strays: string[], why: string): void => {
  const stray = strays.find((name) => isGiven(input, name));
  if (stray !== undefined) throw new UsageError(`--${stray} ${why}`, `--${stray}`);
};

/** @throws UsageError where something is given that a demo would leave out, or that only a demo heeds. */
export const refuseBesideDemo = (input: Input): void => {
  if (input.flag('demo')) refuseStrays(input, ['json-file', 'ticket', ...CONTENT, ...TICKET_ONLY, ...READER], 'cannot stand beside --demo, which makes it up: leave out one of them');
  else refuseStrays(input, ['outcome'], 'belongs to a demo: add --demo');
};

/** Where JSON stops to be any, as far as the parser says; its own words quote what may hold addresses. */
const placeOf = (error: SyntaxError): string => {
  const [, line, column] = /line (\d+) column (\d+)/.exec(error.message) ?? [];
  if (line !== undefined) return `, at line ${line}, column ${column}`;
  const [, position] = /at position (\d+)/.exec(error.message) ?? [];
  return position === undefined ? '' : `, at character ${Number(position) + 1}`;
};

const bodyFrom = (text: string, file: string): Record<string, unknown> => {
  const place = file === '-' ? 'standard input, which --json-file - reads,' : `--json-file ${file}`;
  if (text.trim() === '') throw new UsageError(`${place} is empty; it must hold one JSON object`, '--json-file');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${place} is not JSON${placeOf(error as SyntaxError)}; it must hold one JSON object`, '--json-file');
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw new UsageError(`${place} holds JSON, but no object with the fields of the request`, '--json-file');
};

/** The request that the options describe; `fileText` is what `--json-file` holds. @throws UsageError naming the option. */
export const sendRequest = (input: Input, fileText: string | null, now: number): SendRequest => {
  const ticket = input.flag('ticket');
  if (fileText !== null) {
    refuseStrays(input, [...NOTIFICATION_ONLY, ...TICKET_ONLY, ...READER], 'cannot stand beside --json-file: write it into the file');
    return { path: ticket ? '/tickets' : '/notifications', body: bodyFrom(fileText, input.text('json-file') ?? '-'), needsKey: !ticket };
  }
  if (ticket) refuseStrays(input, NOTIFICATION_ONLY, 'does not belong to a ticket: the roster chooses whom to tell');
  else refuseStrays(input, TICKET_ONLY, 'belongs to a ticket: add --ticket');
  return ticket ? ticketFrom(input) : notificationFrom(input, now);
};
