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
import { PARTS, resolveLocale, templateHash } from './template.ts';
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

/** The declared variables, checked against their rules, `ref`, and whether something is `attached` (yes or no). */
const checkedVariables = ({ template, variables, attemptKey, attachments = [] }: RenderInput): Record<string, string> => {
  const checked: Record<string, string> = { ref: referenceOf(attemptKey), attached: attachments.length > 0 ? 'yes' : 'no' };
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

const senderOf = (text: string): Mailbox => {
  const [first, ...others] = addressparser(text, { flatten: true });
  const address = first && others.length === 0 && typeof first.address === 'string' ? normaliseEmail(first.address) : null;
  return address ? { name: first?.name ?? '', address } : refuse('the sender (MAIL_FROM) is not one email address');
};

const renderSms = (input: RenderInput, text: string): RenderedMessage => {
  const to = normalisePhone(input.to) ?? refuse('the recipient is not a valid phone number');
  if (!/^[A-Za-z0-9+ ._-]{1,64}$/.test(input.sender.sms)) refuse('the sender of SMS is not a number or a sender id');
  if (text.trim() === '') refuse('the text is empty');
  if (text.length > SMS_MAX) refuse(`the text is longer than ${SMS_MAX}`);
  return { channel: 'sms', to, from: input.sender.sms, text };
};

const renderEmail = (input: RenderInput, parts: { subject: string; text: string; html: string }): RenderedMessage => {
  const to = normaliseEmail(input.to) ?? refuse('the recipient is not a valid email address');
  const from = senderOf(input.sender.email);
  if (parts.subject.trim() === '') refuse('the subject is empty');
  if (parts.subject.length > SUBJECT_MAX) refuse(`the subject is longer than ${SUBJECT_MAX}`);
  const { attemptKey, plannedAt, attachments = [] } = input;
  const { mime, places } = composeMail({ from, to, ...parts, attemptKey, plannedAt, attachments: attachments.map(({ type }) => ({ fileName: fileNameOf(type), type })) });
  const carried = attachments.map(({ artifact, sha256, bytes }, index) => ({ artifact, sha256, bytes, at: places[index] as number }));
  return { channel: 'email', to, from: from.address, mime, ...(carried.length > 0 ? { attachments: carried } : {}) };
};

const render = (input: RenderInput): RenderResult => {
  const { template, channel } = input;
  if (template.channel !== channel) refuse(`template ${template.name} is for ${template.channel}, not for ${channel}`);
  const variables = checkedVariables(input);
  const locale = resolveLocale(template, input.locale);
  const parts = compiledOf(template);
  const [first = '', text = '', html = ''] = PARTS[channel].map((part) => {
    const found = parts.get(`${part}.${locale}`) ?? refuse(`template ${template.name} ${template.version} has no ${part} in ${locale}`);
    return renderPart(found, variables);
  });
  const message = channel === 'sms' ? renderSms(input, first) : renderEmail(input, { subject: first, text, html });
  const hash = createHash('sha256').update(canonicalText(message), 'utf8').digest('hex');
  return { ok: true, message, hash, locale, ...(message.channel === 'sms' ? { segments: smsSize(message.text).segments } : {}) };
};

/**
 * Renders the message of an attempt. Synchronous and pure: the same input gives the same bytes, at planning and on every
 * transport retry. A template or a value that cannot be rendered is a result, not an error.
 * @throws where `attemptKey` is none: a broken invariant of the caller.
 */
export const renderAttempt = (input: RenderInput): RenderResult => {
  if (!parseAttemptKey(input.attemptKey)) throw new Error('renderAttempt was given something that is not an attempt key');
  try {
    return render(input);
  } catch (error) {
    if (error instanceof Refused || error instanceof LiquidError) return { ok: false, reason: 'render_error', problem: error.message };
    throw error;
  }
};
