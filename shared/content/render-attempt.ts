import addressparser from 'nodemailer/lib/addressparser';
import { parseAttemptKey, referenceOf } from '../domain/words.ts';
import type { AttemptKey, Channel, Instant, RenderedMessage } from '../domain/words.ts';
import { canonicalText } from '../security/canonical.ts';
import { hexHash } from '../security/chain-hash.ts';
import { normaliseEmail, normalisePhone } from './address.ts';
import { compilePart, isSureToRender, LiquidError, renderPart } from './liquid.ts';
import type { CompiledPart } from './liquid.ts';
import { fileNameOf } from './artifacts/media-types.ts';
import { composeMail } from './mime.ts';
import { onceEach } from './once-each.ts';
import type { Mailbox } from './mime.ts';
import { smsSize } from './segments.ts';
import { threadOf } from './thread.ts';
import { givesUnsubscribe, oneClickOf, PARTS, resolveLocale, templateHash, UNSUBSCRIBE_VARIABLE } from './template.ts';
import type { Part, TemplateVersion, VariableRule } from './template.ts';

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
  | { ok: false; reason: 'render_error' } & RenderProblem;

/** What is wrong with one variable, and what to do about it; never its value. */
export interface VariableFault { variable: string; problem: string; cure: string }
/** What keeps a message from being rendered. It names variables and places, never a value; `faults` says it of each variable at fault, where it is theirs. */
export interface RenderProblem { problem: string; faults: VariableFault[] }

/** A render that cannot be; becomes a value at the edge of this file. */
class Refused extends Error {
  readonly faults: VariableFault[];
  constructor(problem: string, faults: VariableFault[] = []) {
    super(problem);
    this.faults = faults;
  }
}
const refuse = (problem: string, faults: VariableFault[] = []): never => { throw new Refused(problem, faults); };

/** @throws what is no fault of template or variables. */
const problemOf = (error: unknown): RenderProblem => {
  if (error instanceof Refused) return { problem: error.message, faults: error.faults };
  if (error instanceof LiquidError) return { problem: error.message, faults: [] };
  throw error;
};

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

const characters = (count: number): string => `${count.toLocaleString('en')} character${count === 1 ? '' : 's'}`;

const faultOf = (variable: string, { max, type }: VariableRule, value: string | undefined): VariableFault | null => {
  if (typeof value !== 'string') return { variable, problem: 'is missing', cure: 'give it: the template needs it' };
  if (value.length > max) return { variable, problem: `is longer than ${max}: it has ${characters(value.length)}`, cure: `shorten it to at most ${characters(max)}` };
  if (/\p{Surrogate}|\u0000/u.test(value)) return { variable, problem: 'is not valid text', cure: 'take out NUL characters and halves of surrogate pairs' };
  if (type === 'url' && !isWebUrl(value)) return { variable, problem: 'is not an http(s) address', cure: 'write it as https://www.example.com/path' };
  return null;
};

/** Names the longest of the variables that a text shows, and how long it may be for the text to fit. */
const tooLong = (what: string, { text, most }: { text: string; most: number }, { template, variables }: Pick<RenderInput, 'template' | 'variables'>): never => {
  const shown = Object.keys(template.variables).map((name) => ({ name, value: variables[name] ?? '' })).filter(({ value }) => value !== '' && text.includes(value)).sort((one, other) => other.value.length - one.value.length);
  const over = text.length - most;
  const problem = `${what} is longer than ${most}`;
  const [longest] = shown;
  if (longest === undefined) return refuse(problem);
  const room = longest.value.length - over;
  return refuse(problem, [{
    variable: longest.name, problem: `makes ${what} ${characters(text.length)} long, more than the ${most.toLocaleString('en')} that it may have: ${longest.value.length.toLocaleString('en')} of them are its own`,
    cure: room > 0 ? `shorten it to at most ${characters(room)}` : `shorten it, and the other variables by ${characters(1 - room)}`,
  }]);
};

/** A template's variables with nothing in them. A copy that is filled costs less than an object that grows name by name. */
const blankOf = onceEach((template: TemplateVersion): Record<string, string> => {
  const address = template.terms?.postalAddress;
  return { ref: '', attached: '', ...(address === undefined ? {} : { postal_address: address }), ...Object.fromEntries(Object.keys(template.variables).map((name) => [name, ''])) };
});

/** The declared variables, checked against their rules, `ref`, the link to unsubscribe, the postal address, and whether something is `attached` (yes or no). */
const checkedVariables = ({ template, variables, attemptKey, attachments = [] }: TextInput): Record<string, string> => {
  const checked: Record<string, string> = { ...blankOf(template) };
  checked.ref = referenceOf(attemptKey);
  checked.attached = attachments.length > 0 ? 'yes' : 'no';
  const link = variables[UNSUBSCRIBE_VARIABLE];
  if (givesUnsubscribe(template) && link !== undefined) checked[UNSUBSCRIBE_VARIABLE] = unsubscribeUrl(link, UNSUBSCRIBE_VARIABLE);
  const faults: VariableFault[] = [];
  for (const [name, rule] of Object.entries(template.variables)) {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const fault = faultOf(name, rule, value);
    if (fault !== null) faults.push(fault);
    else checked[name] = value as string;
  }
  return faults.length === 0 ? checked : refuse(faults.map(({ variable, problem }) => `variable ${variable} ${problem}`).join('; '), faults);
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
const unsubscribeUrl = (text: string, name: string): string => {
  if (/^https:\/\/[\x21-\x7e]{1,900}$/.test(text) && !/[<>]/.test(text)) return text;
  const problem = 'is not an https address that a header can hold';
  return refuse(`variable ${name} ${problem}`, [{ variable: name, problem, cure: 'write it as https://www.example.com/path, with at most 900 printable ASCII characters behind https:// and without < and >' }]);
};

/** What the provider is to put into its template. */
const providerTemplateOf = ({ owner }: TemplateVersion, variables: Record<string, string>) => (owner === 'ours' ? {} : {
  providerTemplate: { id: owner.id, variables: Object.fromEntries(Object.entries(owner.variables).map(([placeholder, name]) => [placeholder, variables[name] ?? refuse(`variable ${name} is missing`)])) },
});

const renderSms = (input: RenderInput, text: string, variables: Record<string, string>): RenderedMessage => {
  const to = normalisePhone(input.to) ?? refuse('the recipient is not a valid phone number');
  if (!/^[A-Za-z0-9+ ._-]{1,64}$/.test(input.sender.sms)) refuse('the sender of SMS is not a number or a sender id');
  if (text.trim() === '') refuse('the text is empty');
  if (text.length > SMS_MAX) tooLong('the text', { text, most: SMS_MAX }, input);
  return { channel: 'sms', to, from: input.sender.sms, text, ...providerTemplateOf(input.template, variables) };
};

interface EmailParts { subject: string; text: string; html: string }

const checkedEmail = (input: RenderInput, parts: EmailParts): { to: string; from: Mailbox; unsubscribe: { unsubscribeUrl?: string } } => {
  const to = normaliseEmail(input.to) ?? refuse('the recipient is not a valid email address');
  const from = senderOf(input.sender.email);
  if (parts.subject.trim() === '') refuse('the subject is empty');
  if (parts.subject.length > SUBJECT_MAX) tooLong('the subject', { text: parts.subject, most: SUBJECT_MAX }, input);
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

/** `read`: the parts whose texts are looked at; the others only have to be such that they can be made. */
const textsOf = (input: TextInput, read: readonly Part[] = PARTS[input.template.channel]): { locale: string; texts: string[]; variables: Record<string, string> } => {
  const { template } = input;
  const variables = checkedVariables(input);
  const locale = resolveLocale(template, input.locale);
  const parts = compiledOf(template);
  const texts = PARTS[template.channel].map((part) => {
    const found = parts.get(`${part}.${locale}`) ?? refuse(`template ${template.name} ${template.version} has no ${part} in ${locale}`);
    return !read.includes(part) && isSureToRender(found, variables) ? '' : renderPart(found, variables);
  });
  return { locale, texts, variables };
};

const textsFor = (input: RenderInput, read?: readonly Part[]): ReturnType<typeof textsOf> => {
  const { template, channel } = input;
  if (template.channel !== channel) refuse(`template ${template.name} is for ${template.channel}, not for ${channel}`);
  return textsOf(input, read);
};

const render = (input: RenderInput): RenderResult => {
  const { locale, variables, texts: [first = '', text = '', html = ''] } = textsFor(input);
  const message = input.channel === 'sms' ? renderSms(input, first, variables) : renderEmail(input, { subject: first, text, html }, variables);
  const hash = hexHash(canonicalText(message));
  return { ok: true, message, hash, locale, ...(message.channel === 'sms' ? { segments: smsSize(message.text).segments } : {}) };
};

/** Of the other parts nothing is refused. */
const PARTS_LOOKED_AT: readonly Part[] = ['sms', 'subject'];

/**
 * What keeps a message from being rendered, found without composing it: the same refusals as those of `renderAttempt`. Null where nothing does.
 * @throws like `renderAttempt`.
 */
export const findRenderProblem = (input: RenderInput): RenderProblem | null => {
  try {
    assertAttemptKey(input);
    const { variables, texts: [first = '', text = '', html = ''] } = textsFor(input, PARTS_LOOKED_AT);
    if (input.channel === 'sms') renderSms(input, first, variables);
    else checkedEmail(input, { subject: first, text, html });
    return null;
  } catch (error) {
    return problemOf(error);
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
    return { ok: false, reason: 'render_error', ...problemOf(error) };
  }
};

export type RenderedTexts = { ok: true; locale: string; texts: Partial<Record<Part, string>> } | { ok: false; problem: string };

/** Renders the texts of a template alone, as a message of it would hold them: for a preview, where there is nobody to send to. */
export const renderTexts = (input: TextInput): RenderedTexts => {
  try {
    const { locale, texts } = textsOf(input);
    return { ok: true, locale, texts: Object.fromEntries(PARTS[input.template.channel].map((part, index) => [part, texts[index] ?? ''])) };
  } catch (error) {
    return { ok: false, problem: problemOf(error).problem };
  }
};
