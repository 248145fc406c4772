import { hostsIn } from './link-check.ts';
import { compilePart } from './liquid.ts';
import type { ReadTemplate } from './template-file.ts';
import { checkShownStates, sharedName } from './states-shown.ts';
import type { LeftOut } from './states-shown.ts';
import { partsOf } from './template-check.ts';
import { shapeOf } from './text-shape.ts';
import type { FileProblem } from './yaml-file.ts';

const UNIT_MS: readonly [RegExp, number][] = [[/^(min|minutes?|minuten?)$/i, 60_000], [/^(h|hours?|stunden?)$/i, 3_600_000], [/^(days?|tag|tagen?|tage)$/i, 86_400_000]];

/** Spans of time that a text names, such as `10 minutes`, in milliseconds. */
const spansIn = (source: string): number[] => [...source.matchAll(/(\d{1,4})[\s\u00a0-]*(\p{L}+)/gu)].flatMap(([, count, unit]) => {
  const ms = UNIT_MS.find(([pattern]) => pattern.test(unit ?? ''))?.[1];
  return ms === undefined ? [] : [Number(count) * ms];
});

const wordsOf = (name: string, value: string | number): string => (name === 'expiryMs' ? `${Number(value) / 1_000}s` : String(value));
const FIELDS = { action: 'action', host: 'host', expiryMs: 'expiry' } as const;

/** What one of two states and the other does not: whether both say the same of it, nobody could tell. */
const checkUnstated = (one: ReadTemplate, other: ReadTemplate): FileProblem[] => (Object.keys(FIELDS) as (keyof typeof FIELDS)[])
  .filter((field) => one.template.terms?.states?.[field] === undefined && other.template.terms?.states?.[field] !== undefined)
  .map((field) => one.at(['states'], `do not say ${FIELDS[field]}, which ${other.template.name} ${other.template.version} of the same purpose states; state it here too, or in neither`, 'states_differ'));

/** What both templates state, compared field by field. */
const checkStated = (sms: ReadTemplate, email: ReadTemplate): FileProblem[] => (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).flatMap((field) => {
  const [ours, theirs] = [sms.template.terms?.states?.[field], email.template.terms?.states?.[field]];
  if (ours === undefined || theirs === undefined || ours === theirs) return [];
  return [email.at(['states', FIELDS[field]], `is ${wordsOf(field, theirs)}, but ${sms.template.name} ${sms.template.version} of the same purpose states ${wordsOf(field, ours)}; make both texts and both states say the same`, 'states_differ')];
});

const textsOf = (read: ReadTemplate) => partsOf(read.template).filter(({ part }) => part === 'sms' || part === 'text');

const urlsReadBy = (read: ReadTemplate): Set<string> =>
  new Set(textsOf(read).flatMap(({ part, source }) => compilePart(part, source).reads.map(({ name }) => name)).filter((name) => read.template.variables[name]?.type === 'url').map(sharedName));

const linksOf = (read: ReadTemplate) => textsOf(read).flatMap((placed) => {
  const shape = shapeOf(placed, read.template.variables);
  return hostsIn(placed.part, shape).map(({ host, index }) => ({ host, line: shape.lineAt(index), locale: placed.locale }));
});

/** What the texts themselves show to differ: hosts of written links, the variables that hold links, and spans of time by locale. */
const checkTexts = (sms: ReadTemplate, email: ReadTemplate): FileProblem[] => {
  const found: FileProblem[] = [];
  const other = `${sms.template.name} ${sms.template.version}`;
  const place = (locale: string, [line, problem]: [number, string]): FileProblem => ({ file: email.fileOf('text', locale), line, column: 1, field: '', problem, code: 'states_differ' });
  const emailLinks = linksOf(email);
  const lost = linksOf(sms).find(({ host }) => emailLinks.length > 0 && !emailLinks.some((link) => link.host === host));
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
export const checkStates = (templates: readonly ReadTemplate[], leftOut: LeftOut): FileProblem[] => {
  const of = (channel: string): ReadTemplate[] => templates.filter(({ template }) => template.channel === channel);
  return of('sms').flatMap((sms) => of('email').flatMap((email) => [
    ...checkStated(sms, email), ...checkUnstated(sms, email), ...checkUnstated(email, sms), ...checkTexts(sms, email), ...checkShownStates(sms, email, leftOut), ...checkShownStates(email, sms, leftOut),
  ]));
};
