import { z } from 'zod';
import { durationField } from './duration.ts';
import type { TemplateTerms } from './template.ts';

const variable = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must name a variable');
const budget = z.int().min(1).max(10);

/** Schema of a host that links may lead to. */
export const hostField = z.string().regex(/^[a-z0-9.-]+(:\d+)?$/, 'must be a host name, such as www.example.com');

/** Schema of a template's owner. */
export const ownerField = z.union([
  z.literal('ours'),
  z.strictObject({
    provider: z.literal('twilio').describe('The provider that keeps the template'),
    id: z.string().regex(/^HX[0-9a-f]{32}$/, 'must be the id of a content template: HX and 32 hex digits').describe('Its id there'),
    variables: z.record(z.string().regex(/^\w{1,16}$/, 'a placeholder is a short name or number'), variable).default({}).describe('Per placeholder of the provider\'s text, the variable that stands for it'),
  }),
], 'must be ours, or { provider: twilio, id: HX…, variables: { "1": name } }').describe('`ours`, or a template that a provider keeps');

/** What a template may say of itself beyond its texts; all of it can be left out. */
export const termFields = {
  segments: z.union([budget, z.record(z.string(), budget)]).optional().describe('SMS: most segments that a message may cost, for all locales or by locale (4 where it is left out)'),
  link_hosts: z.array(hostField).min(1).optional()
    .describe('Hosts that links may lead to, those written into the texts and those of url variables that name no hosts of their own'),
  states: z.strictObject({
    action: z.string().min(1).optional().describe('What the reader is asked to do'),
    host: z.string().min(1).optional().describe('Where the link leads: a host, or the variable that holds the link'),
    expiry: durationField.optional().describe('How long it may be done'),
  }).optional().describe('What the texts say, so that SMS and email of one purpose can be compared'),
  postal_address: z.string().min(1).max(300).optional().describe('Commercial mail: the sender\'s address, shown by {{ postal_address }}'),
  opt_out: variable.optional().describe('Commercial or subscription mail: the variable by which a reader stops it: unsubscribe_url, or a url variable of your own'),
  one_click: variable.optional().describe('Commercial or subscription mail: the variable for List-Unsubscribe, with one click (RFC 8058): unsubscribe_url, or a url variable of your own; unsubscribe_url where opt_out is that'),
  thread: z.strictObject({
    by: z.array(variable).min(1, 'must name at least one variable').describe('Variables, none of them secret, whose values such mails have in common'),
    within: durationField.describe('Length of the windows into which the instant of the request falls, in UTC: 1h is by the hour'),
  }).optional().describe('Email: what comes together is one conversation to a mail program (References, In-Reply-To); its subject may show nothing but these variables'),
};

type Source = z.output<z.ZodObject<typeof termFields>>;

/** The terms as a version keeps them; undefined where the file states none. */
export const termsOf = ({ segments, link_hosts: linkHosts, states, postal_address: postalAddress, opt_out: optOut, one_click: oneClick, thread }: Source, locales: readonly string[]): TemplateTerms | undefined => {
  const stated = states && Object.fromEntries(Object.entries({ action: states.action, host: states.host, expiryMs: states.expiry }).filter(([, value]) => value !== undefined));
  const all = {
    segments: typeof segments === 'number' ? Object.fromEntries(locales.map((locale) => [locale, segments])) : segments, linkHosts, states: stated, postalAddress, optOut, oneClick,
    thread: thread && { by: thread.by, withinMs: thread.within },
  };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given) as TemplateTerms;
};
