import { compilePart } from './liquid.ts';
import type { ReadTemplate } from './template-file.ts';
import { linksIn, partsOf } from './template-check.ts';
import type { FileProblem } from './yaml-file.ts';

const UNIT_MS: readonly [RegExp, number][] = [[/^(min|minutes?|minuten?)$/i, 60_000], [/^(h|hours?|stunden?)$/i, 3_600_000], [/^(days?|tag|tagen?|tage)$/i, 86_400_000]];

/** Spans of time that a text names, such as `10 minutes`, in milliseconds. */
const spansIn = (source: string): number[] => [...source.matchAll(/(\d{1,4})[\s\u00a0-]*(\p{L}+)/gu)].flatMap(([, count, unit]) => {
  const ms = UNIT_MS.find(([pattern]) => pattern.test(unit ?? ''))?.[1];
  return ms === undefined ? [] : [Number(count) * ms];
});

const wordsOf = (name: string, value: string | number): string => (name === 'expiryMs' ? `${Number(value) / 1_000}s` : String(value));
const FIELDS = { action: 'action', host: 'host', expiryMs: 'expiry' } as const;

/** What both templates state, compared field by field. */
const checkStated = (sms: ReadTemplate, email: ReadTemplate): FileProblem[] => (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).flatMap((field) => {
  const [ours, theirs] = [sms.template.terms?.states?.[field], email.template.terms?.states?.[field]];
  if (ours === undefined || theirs === undefined || ours === theirs) return [];
  return [email.at(['states', FIELDS[field]], `is ${wordsOf(field, theirs)}, but ${sms.template.name} ${sms.template.version} of the same purpose states ${wordsOf(field, ours)}; make both texts and both states say the same`, 'states_differ')];
});

const textsOf = (read: ReadTemplate) => partsOf(read.template).filter(({ part }) => part === 'sms' || part === 'text');

const urlsReadBy = (read: ReadTemplate): Set<string> =>
  new Set(textsOf(read).flatMap(({ part, source }) => compilePart(part, source).reads.map(({ name }) => name)).filter((name) => read.template.variables[name]?.type === 'url').map(sharedName));

/** A link of each channel's own is one link to the reader: `report_url_sms` and `report_url_email`. */
const sharedName = (name: string): string => name.replace(/_(sms|email)$/, '');

/** What the texts themselves show to differ: hosts of written links, the variables that hold links, and spans of time by locale. */
const checkTexts = (sms: ReadTemplate, email: ReadTemplate): FileProblem[] => {
  const found: FileProblem[] = [];
  const other = `${sms.template.name} ${sms.template.version}`;
  const place = (locale: string, [line, problem]: [number, string]): FileProblem => ({ file: email.fileOf('text', locale), line, column: 1, field: '', problem, code: 'states_differ' });
  const emailLinks = textsOf(email).flatMap((placed) => linksIn(placed).map((link) => ({ ...link, locale: placed.locale })));
  const lost = textsOf(sms).flatMap(linksIn).find(({ host }) => emailLinks.length > 0 && !emailLinks.some((link) => link.host === host));
  if (lost && emailLinks[0]) found.push(place(emailLinks[0].locale, [emailLinks[0].line, `links to ${emailLinks[0].host}, but ${other} of the same purpose to ${lost.host}; let both lead to the same host`]));
  const [fromSms, fromEmail] = [urlsReadBy(sms), urlsReadBy(email)];
  const missing = [...fromSms].find((name) => !fromEmail.has(name));
  if (missing !== undefined && fromEmail.size > 0) found.push({ ...email.at(['variables'], `hold the link ${[...fromEmail].join(', ')}, but ${other} of the same purpose leads to ${missing}; let both lead to the same place`, 'states_differ'), level: 'warning' });
  for (const { locale, source } of textsOf(email)) {
    const spans = spansIn(source);
    const theirs = textsOf(sms).filter((one) => one.locale === locale).flatMap((one) => spansIn(one.source));
    if (spans.length > 0 && theirs.length > 0 && !theirs.some((span) => spans.includes(span))) {
      found.push({ ...place(locale, [1, `names another span of time than ${other} of the same purpose; make both say the same`]), level: 'warning' });
    }
  }
  return found;
};

/** Where the SMS and the email of one purpose tell their reader different things. */
export const checkStates = (templates: readonly ReadTemplate[]): FileProblem[] => {
  const of = (channel: string): ReadTemplate | undefined => templates.find(({ template }) => template.channel === channel);
  const [sms, email] = [of('sms'), of('email')];
  return sms && email ? [...checkStated(sms, email), ...checkTexts(sms, email)] : [];
};
