import { compilePart, LiquidError, renderPart } from './liquid.ts';
import { wrongLinks } from './link-check.ts';
import { smsSize } from './segments.ts';
import { givesUnsubscribe, oneClickOf, PARTS, UNSUBSCRIBE_VARIABLE } from './template.ts';
import type { Part, TemplateVersion } from './template.ts';
import type { ReadTemplate } from './template-file.ts';
import type { FileProblem } from './yaml-file.ts';

/** What an SMS may cost where its template does not say. */
const DEFAULT_SEGMENTS = 4;

type Placed = { part: Part; locale: string; source: string };

/** Every text of a template. */
export const partsOf = ({ channel, locales }: TemplateVersion): Placed[] =>
  Object.entries(locales).flatMap(([locale, parts]) => PARTS[channel].flatMap((part) => (parts[part] === undefined ? [] : [{ part, locale, source: parts[part] }])));

const inPart = ({ fileOf }: ReadTemplate, { part, locale }: Placed, [line, problem, code]: [number, string, string]): FileProblem =>
  ({ file: fileOf(part, locale), line, column: 1, field: '', problem, code });

const checkLinks = (read: ReadTemplate): FileProblem[] => {
  const allowed = read.template.terms?.linkHosts ?? [];
  // The link to unsubscribe is made here, and declared by nobody.
  const variables = givesUnsubscribe(read.template) ? { ...read.template.variables, [UNSUBSCRIBE_VARIABLE]: { type: 'url' as const, max: 1_000 } } : read.template.variables;
  return partsOf(read.template).flatMap((placed) => wrongLinks(placed, variables, allowed).map(({ line, problem, code }) => inPart(read, placed, [line, problem, code])));
};

/** A value as long as it may be, of characters that cost least: what a text costs beyond that is its own doing. */
const longest = (rule: TemplateVersion['variables'][string]): string => (rule.type === 'url' ? 'https://example.com/'.padEnd(rule.max, 'x').slice(0, rule.max) : 'x'.repeat(rule.max));

const checkSegments = (read: ReadTemplate): FileProblem[] => {
  const { template } = read;
  const values = { ref: 'SAMPLE00', ...Object.fromEntries(Object.entries(template.variables).map(([name, rule]) => [name, longest(rule)])) };
  return partsOf(template).filter(({ part }) => part === 'sms').flatMap((placed) => {
    const budget = template.terms?.segments?.[placed.locale] ?? DEFAULT_SEGMENTS;
    try {
      const { segments, encoding } = smsSize(renderPart(compilePart('sms', placed.source), values));
      return segments <= budget ? [] : [inPart(read, placed, [1,
        `costs up to ${segments} segments (${encoding}), more than its budget of ${budget}; shorten the text or the max of its variables${encoding === 'UCS-2' ? ', or use only characters of GSM-7' : ''}`, 'segment_budget'])];
    } catch (error) {
      if (error instanceof LiquidError) return [];
      throw error;
    }
  });
};

const checkSecrets = ({ template, at }: ReadTemplate): FileProblem[] => Object.entries(template.variables).flatMap(([name, { secret, channels }]) => {
  if (!secret || channels?.includes(template.channel) || (!channels && template.channel === 'email')) return [];
  // An SMS shows on a locked screen, so that it carries a secret only where somebody wrote that it may.
  const why = channels ? `is secret and may not be carried by ${template.channel}` : `is secret, and email alone may carry it where no channels are listed`;
  return [at(['variables', name], `${why}; drop it from this template, or list ${template.channel} under its channels`, 'secret_channel')];
});

/** A rule that is written down and not obeyed must not look obeyed. */
const checkHosts = ({ template, at }: ReadTemplate): FileProblem[] => Object.entries(template.variables).filter(([, { type, hosts }]) => hosts !== undefined && type !== 'url').map(([name]) =>
  at(['variables', name, 'hosts'], 'is for a url alone, and this is a string; write type: url, or leave it out', 'invalid_value'));

/** Whether text and HTML, in every locale, show a variable; the fault for each that does not. */
const checkShown = (read: ReadTemplate, name: string, [problem, code]: [string, string]): FileProblem[] =>
  partsOf(read.template).filter(({ part, source }) => part !== 'subject' && !compilePart(part, source).reads.some((one) => one.name === name)).map((placed) => inPart(read, placed, [1, problem, code]));

const checkLinkVariable = ({ template, at }: ReadTemplate, field: 'opt_out' | 'one_click', name: string): FileProblem[] =>
  (template.variables[name]?.type === 'url' || (name === UNSUBSCRIBE_VARIABLE && givesUnsubscribe(template)) ? [] : [at([field], `names ${name}, which is no url among the variables; declare it with type: url`, 'unknown_variable')]);

/** `postal_address` is known only where template.yaml gives it. */
const checkPostalAddress = (read: ReadTemplate): FileProblem[] => (read.template.terms?.postalAddress !== undefined ? [] : partsOf(read.template).flatMap((placed) =>
  compilePart(placed.part, placed.source).reads.filter(({ name }) => name === 'postal_address' && !(name in read.template.variables)).map(({ line }) =>
    inPart(read, placed, [line, 'shows postal_address, which template.yaml does not give; add it there', 'unknown_variable']))));

const checkClassification = (read: ReadTemplate): FileProblem[] => {
  const { template: { channel, classification, terms }, at } = read;
  if (channel !== 'email') return [];
  const found: FileProblem[] = [];
  if (classification === 'commercial') {
    if (terms?.postalAddress === undefined) found.push(at(['classification'], 'is commercial, which needs a postal address; add postal_address, and {{ postal_address }} to the texts', 'no_postal_address'));
    else found.push(...checkShown(read, 'postal_address', ['does not show the postal address, which commercial mail needs; add {{ postal_address }}', 'no_postal_address']));
  }
  if (classification !== 'transactional') {
    const { optOut } = terms ?? {};
    if (optOut === undefined) found.push(at(['classification'], `is ${classification}, which needs a way to opt out; add opt_out: unsubscribe_url, or with the name of a url variable of your own, and show it in the texts`, 'no_opt_out'));
    else found.push(...checkLinkVariable(read, 'opt_out', optOut), ...checkShown(read, optOut, [`does not show the link to opt out; add {{ ${optOut} }}`, 'no_opt_out']));
  }
  if (classification === 'subscription' && oneClickOf(read.template) === undefined) {
    found.push(at(['classification'], 'is subscription, which needs the headers to unsubscribe with one click; add one_click: unsubscribe_url, or with the name of a url variable of your own', 'no_one_click'));
  }
  if (terms?.oneClick !== undefined) found.push(...checkLinkVariable(read, 'one_click', terms.oneClick));
  return found;
};

/** The provider's text is made of exactly the variables it was registered with: one more or less and it refuses, or says something else than our copy. */
const checkOwner = (read: ReadTemplate): FileProblem[] => {
  const { template: { owner, channel, locales }, at } = read;
  if (owner === 'ours') return [];
  const found: FileProblem[] = [];
  if (channel !== 'sms') found.push(at(['owner'], `is ${owner.provider}, which keeps templates for sms alone; write ours`, 'provider_template'));
  if (Object.keys(locales).length > 1) found.push(at(['locales'], 'are several, but a template of the provider has one text; make a template of each locale', 'provider_template'));
  const given = new Set(Object.values(owner.variables));
  for (const placed of partsOf(read.template)) {
    const shown = compilePart(placed.part, placed.source).reads;
    const names = new Set(shown.map(({ name }) => name));
    found.push(...shown.filter(({ name }) => !given.has(name)).map(({ name, line }) => inPart(read, placed, [line, `shows ${name}, which stands for no placeholder of the provider's template; add it to owner.variables, or drop it`, 'provider_variables'])));
    found.push(...Object.entries(owner.variables).filter(([, name]) => !names.has(name)).map(([placeholder, name]) =>
      at(['owner', 'variables', placeholder], `is ${name}, which ${placed.part}.${placed.locale}.liquid does not show; make the text a copy of the provider's`, 'provider_variables')));
  }
  return found;
};

/** A conversation is found again by its subject too (Gmail): one that shows anything else than what it goes by would never be one. */
const checkThread = (read: ReadTemplate): FileProblem[] => {
  const { template: { channel, variables, terms }, at } = read;
  if (terms?.thread === undefined) return [];
  const { by } = terms.thread;
  if (channel !== 'email') return [at(['thread'], `is for email, and this template is for ${channel}; drop it`, 'thread')];
  const named = by.flatMap((name, index) => {
    if (!(name in variables)) return [at(['thread', 'by', index], `names ${name}, which is not among the variables; declare it or correct its name`, 'unknown_variable')];
    return variables[name]?.secret ? [at(['thread', 'by', index], `names ${name}, which is secret and may not stand in a header, not even hashed; go by another variable`, 'thread')] : [];
  });
  const constant = ['postal_address', ...by];
  return [...named, ...partsOf(read.template).filter(({ part }) => part === 'subject').flatMap((placed) => compilePart(placed.part, placed.source).reads.filter(({ name }) => !constant.includes(name)).map(({ name, line }) =>
    inPart(read, placed, [line, `shows ${name}, by which the conversations of template.yaml do not go, so mail programs would keep every mail apart; move it to the text, or add it under thread.by`, 'thread'])))];
};

/** What the schema and the syntax cannot see: links, what an SMS costs, secrets, and what the law wants of a class of mail. */
export const checkTemplate = (read: ReadTemplate): FileProblem[] => [...checkOwner(read), ...checkLinks(read), ...checkSegments(read), ...checkSecrets(read), ...checkHosts(read), ...checkPostalAddress(read), ...checkClassification(read), ...checkThread(read)];
