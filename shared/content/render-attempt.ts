import { createHash } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import { parseAttemptKey, referenceOf } from '../domain/words.ts';
import type { AttemptKey, Channel, Instant, RenderedMessage } from '../domain/words.ts';
import { canonicalText } from '../security/canonical.ts';
import { normaliseEmail, normalisePhone } from './address.ts';
import { compilePart, LiquidError, renderPart } from './liquid.ts';
import type { CompiledPart } from './liquid.ts';
import { fileNameOf } from './artifacts/media-types.ts';
import { composeMail } from './mime.ts';
import type { Mailbox } from './mime.ts';
import { smsSize } from './segments.ts';
import { threadOf } from './thread.ts';
import { givesUnsubscribe, oneClickOf, PARTS, resolveLocale, templateHash, UNSUBSCRIBE_VARIABLE } from './template.ts';
import type { Part, TemplateVersion } from './template.ts';

export interface RenderInput {
  template: TemplateVersion;
  channel: Channel;
  locale: string;
  /** May hold more than the template declares; it sees only what it declares. */
  variables: Readonly<Record<string, string>>;
  /** E.164 number or bare email address. */
  to: string;
  /** `email` may have a display name. */
  sender: { sms: string; email: string };
  attemptKey: AttemptKey;
  plannedAt: Instant;
  /** When the notification was asked for; needed where the template makes conversations. */
  requestedAt?: Instant;
  /** Attached to an email, in this order. */
  attachments?: readonly CarriedArtifact[];
}

/** What is known of a report that a notification carries, beside its bytes. */
export interface CarriedArtifact { artifact: string; /** Hex. */ sha256: string; bytes: number; type: string }

export type RenderResult =
  /** `hash`: sha-256, hex, over the RFC 8785 text of `message`. `locale`: the one it was rendered in. */
  | { ok: true; message: RenderedMessage; hash: string; locale: string; segments?: number }
  /** `problem` names variables and places, never a value. */
  | { ok: false; reason: 'render_error'; problem: string };

/** A render that cannot be; becomes a value at the edge of this file. */
class Refused extends Error {}
const refuse = (problem: string): never => { throw new Refused(problem); };

/** Beyond this Twilio refuses the text (error 21617). */
const SMS_MAX = 1_600;
const SUBJECT_MAX = 200;

type Compiled = Map<string, CompiledPart>;
/** By template hash. A deployment has a few dozen versions; the bound is for tests and mistakes. */
const compiled = new Map<string, Compiled>();
const CACHED_MAX = 500;

const compiledOf = (template: TemplateVersion): Compiled => {
  const known = compiled.get(template.hash);
  if (known) return known;
  // Checked once, when it enters the cache: a row that was changed in the database is found before it is sent.
  if (templateHash(template) !== template.hash) refuse(`template ${template.name} ${template.version} does not match its hash`);
  const fresh: Compiled = new Map();
  for (const [locale, parts] of Object.entries(template.locales)) {
    for (const [part, source] of Object.entries(parts) as [Part, string][]) {
      // CRLF is the line end of a text part; in an SMS it would cost a septet more.
      fresh.set(`${part}.${locale}`, compilePart(part, part === 'text' || part === 'html' ? source.replace(/\r?\n/g, '\r\n') : source));
    }
  }
  if (compiled.size >= CACHED_MAX) compiled.clear();
  compiled.set(template.hash, fresh);
  return fresh;
};

const isWebUrl = (text: string): boolean => /^https?:\/\/[^\s"'<>\\]+$/.test(text) && URL.canParse(text);

/** The declared variables, checked against their rules, `ref`, the link to unsubscribe, the postal address, and whether something is `attached` (yes or no). */
const checkedVariables = ({ template, variables, attemptKey, attachments = [] }: TextInput): Record<string, string> => {
  const address = template.terms?.postalAddress;
  const checked: Record<string, string> = { ref: referenceOf(attemptKey), attached: attachments.length > 0 ? 'yes' : 'no', ...(address === undefined ? {} : { postal_address: address }) };
  const link = variables[UNSUBSCRIBE_VARIABLE];
  if (givesUnsubscribe(template) && link !== undefined) checked[UNSUBSCRIBE_VARIABLE] = unsubscribeUrl(link, UNSUBSCRIBE_VARIABLE);
  for (const [name, rule] of Object.entries(template.variables)) {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (typeof value !== 'string') return refuse(`variable ${name} is missing`);
    if (value.length > rule.max) refuse(`variable ${name} is longer than ${rule.max}`);
    if (/\p{Surrogate}|\u0000/u.test(value)) refuse(`variable ${name} is not valid text`);
    if (rule.type === 'url' && !isWebUrl(value)) refuse(`variable ${name} is not an http(s) address`);
    checked[name] = value;
  }
  return checked;
};

/** Of the last sender; a deployment has one. */
let parsedSender: { text: string; mailbox: Mailbox } | null = null;

const senderOf = (text: string): Mailbox => {
  if (parsedSender?.text !== text) parsedSender = { text, mailbox: parseSender(text) };
  return parsedSender.mailbox;
};

const parseSender = (text: string): Mailbox => {
  const [first, ...others] = addressparser(text, { flatten: true });
  const address = first && others.length === 0 && typeof first.address === 'string' ? normaliseEmail(first.address) : null;
  return address ? { name: first?.name ?? '', address } : refuse('the sender (MAIL_FROM) is not one email address');
};

/** Printable ASCII only: whatever else a link may hold, in a header it could begin another one, or be folded. */
const unsubscribeUrl = (text: string, name: string): string =>
  (/^https:\/\/[\x21-\x7e]{1,900}$/.test(text) && !/[<>]/.test(text) ? text : refuse(`variable ${name} is not an https address that a header can hold`));

/** What the provider is to put into its template. */
const providerTemplateOf = ({ owner }: TemplateVersion, variables: Record<string, string>) => (owner === 'ours' ? {} : {
  providerTemplate: { id: owner.id, variables: Object.fromEntries(Object.entries(owner.variables).map(([placeholder, name]) => [placeholder, variables[name] ?? refuse(`variable ${name} is missing`)])) },
});

const renderSms = (input: RenderInput, text: string, variables: Record<string, string>): RenderedMessage => {
  const to = normalisePhone(input.to) ?? refuse('the recipient is not a valid phone number');
  if (!/^[A-Za-z0-9+ ._-]{1,64}$/.test(input.sender.sms)) refuse('the sender of SMS is not a number or a sender id');
  if (text.trim() === '') refuse('the text is empty');
  if (text.length > SMS_MAX) refuse(`the text is longer than ${SMS_MAX}`);
  return { channel: 'sms', to, from: input.sender.sms, text, ...providerTemplateOf(input.template, variables) };
};

interface EmailParts { subject: string; text: string; html: string }

const checkedEmail = (input: RenderInput, parts: EmailParts): { to: string; from: Mailbox; unsubscribe: { unsubscribeUrl?: string } } => {
  const to = normaliseEmail(input.to) ?? refuse('the recipient is not a valid email address');
  const from = senderOf(input.sender.email);
  if (parts.subject.trim() === '') refuse('the subject is empty');
  if (parts.subject.length > SUBJECT_MAX) refuse(`the subject is longer than ${SUBJECT_MAX}`);
  const oneClick = oneClickOf(input.template);
  return { to, from, unsubscribe: oneClick === undefined ? {} : { unsubscribeUrl: unsubscribeUrl(input.variables[oneClick] ?? '', oneClick) } };
};

const renderEmail = (input: RenderInput, parts: EmailParts, variables: Record<string, string>): RenderedMessage => {
  const { to, from, unsubscribe } = checkedEmail(input, parts);
  const { template, attemptKey, plannedAt, requestedAt, attachments = [] } = input;
  const thread = template.terms?.thread && threadOf(template.terms.thread, { variables, requestedAt: requestedAt ?? refuse('the template makes conversations, and nothing says when the notification was asked for') });
  const { mime, places } = composeMail({ from, to, ...parts, attemptKey, plannedAt, ...(thread === undefined ? {} : { thread }), ...unsubscribe, attachments: attachments.map(({ type }) => ({ fileName: fileNameOf(type), type })) });
  const carried = attachments.map(({ artifact, sha256, bytes }, index) => ({ artifact, sha256, bytes, at: places[index] as number }));
  return { channel: 'email', to, from: from.address, mime, ...(carried.length > 0 ? { attachments: carried } : {}) };
};

type TextInput = Pick<RenderInput, 'template' | 'locale' | 'variables' | 'attemptKey' | 'attachments'>;

const textsOf = (input: TextInput): { locale: string; texts: string[]; variables: Record<string, string> } => {
  const { template } = input;
  const variables = checkedVariables(input);
  const locale = resolveLocale(template, input.locale);
  const parts = compiledOf(template);
  const texts = PARTS[template.channel].map((part) => {
    const found = parts.get(`${part}.${locale}`) ?? refuse(`template ${template.name} ${template.version} has no ${part} in ${locale}`);
    return renderPart(found, variables);
  });
  return { locale, texts, variables };
};

const textsFor = (input: RenderInput): ReturnType<typeof textsOf> => {
  const { template, channel } = input;
  if (template.channel !== channel) refuse(`template ${template.name} is for ${template.channel}, not for ${channel}`);
  return textsOf(input);
};

const render = (input: RenderInput): RenderResult => {
  const { locale, variables, texts: [first = '', text = '', html = ''] } = textsFor(input);
  const message = input.channel === 'sms' ? renderSms(input, first, variables) : renderEmail(input, { subject: first, text, html }, variables);
  const hash = createHash('sha256').update(canonicalText(message), 'utf8').digest('hex');
  return { ok: true, message, hash, locale, ...(message.channel === 'sms' ? { segments: smsSize(message.text).segments } : {}) };
};

/**
 * What keeps a message from being rendered, found without composing it: the same refusals as those of `renderAttempt`. Null where nothing does.
 * @throws like `renderAttempt`.
 */
export const findRenderProblem = (input: RenderInput): string | null => {
  try {
    assertAttemptKey(input);
    const { variables, texts: [first = '', text = '', html = ''] } = textsFor(input);
    if (input.channel === 'sms') renderSms(input, first, variables);
    else checkedEmail(input, { subject: first, text, html });
    return null;
  } catch (error) {
    if (error instanceof Refused || error instanceof LiquidError) return error.message;
    throw error;
  }
};

const assertAttemptKey = ({ attemptKey }: RenderInput): void => {
  if (!parseAttemptKey(attemptKey)) throw new Error('renderAttempt was given something that is not an attempt key');
};

/**
 * Renders the message of an attempt. Synchronous and pure: the same input gives the same bytes, at planning and on every
 * transport retry. A template or a value that cannot be rendered is a result, not an error.
 * @throws where `attemptKey` is none: a broken invariant of the caller.
 */
export const renderAttempt = (input: RenderInput): RenderResult => {
  assertAttemptKey(input);
  try {
    return render(input);
  } catch (error) {
    if (error instanceof Refused || error instanceof LiquidError) return { ok: false, reason: 'render_error', problem: error.message };
    throw error;
  }
};

export type RenderedTexts = { ok: true; locale: string; texts: Partial<Record<Part, string>> } | { ok: false; problem: string };

/** Renders the texts of a template alone, as a message of it would hold them: for a preview, where there is nobody to send to. */
export const renderTexts = (input: TextInput): RenderedTexts => {
  try {
    const { locale, texts } = textsOf(input);
    return { ok: true, locale, texts: Object.fromEntries(PARTS[input.template.channel].map((part, index) => [part, texts[index] ?? ''])) };
  } catch (error) {
    if (error instanceof Refused || error instanceof LiquidError) return { ok: false, problem: error.message };
    throw error;
  }
};
