import { createHash } from 'node:crypto';
import type { Channel } from '../domain/words.ts';
import { canonicalText } from '../security/canonical.ts';

/** What a variable may hold. `secret` ones may not stand in a subject, which shows on a locked screen, and are sealed apart, to be destroyed first. */
export interface VariableRule {
  type: 'string' | 'url';
  /** UTF-16 code units. */
  max: number;
  secret?: boolean;
  /** Channels that may carry a secret; email alone where it is left out. */
  channels?: Channel[];
  /** Of a url: hosts that it may lead to; those of the terms where it is left out. */
  hosts?: string[];
}

/** What a template says of itself beyond its texts. */
export interface TemplateTerms {
  /** Most segments of an SMS, by locale. */
  segments?: Record<string, number>;
  /** Hosts that links may lead to: those written into the texts, and those of variables that name no hosts of their own. */
  linkHosts?: string[];
  states?: { action?: string; host?: string; expiryMs?: number };
  /** Shown by `{{ postal_address }}`. */
  postalAddress?: string;
  /** The variable with the link that stops further mail. */
  optOut?: string;
  /** The variable with the link of `List-Unsubscribe` (RFC 8058). */
  oneClick?: string;
  /** Email: those with the same values of these variables, requested in the same window of that length (UTC, from the epoch on), are one conversation to a mail program. */
  thread?: { by: string[]; withinMs: number };
}

/** The variable with the link by which a reader stops mail of its kind; made here, for email that is not transactional. */
export const UNSUBSCRIBE_VARIABLE = 'unsubscribe_url';

/** Whether a template may show `UNSUBSCRIBE_VARIABLE` without declaring it. One that declares it gets it from its callers, as any other. */
export const givesUnsubscribe = ({ channel, classification, variables }: Pick<TemplateVersion, 'channel' | 'classification' | 'variables'>): boolean =>
  channel === 'email' && classification !== 'transactional' && !Object.hasOwn(variables, UNSUBSCRIBE_VARIABLE);

/** The variable of `List-Unsubscribe` (RFC 8058): whatever `one_click` names, and our own link also where only `opt_out` names it. */
export const oneClickOf = (template: TemplateVersion): string | undefined =>
  template.terms?.oneClick ?? (template.terms?.optOut === UNSUBSCRIBE_VARIABLE && givesUnsubscribe(template) ? UNSUBSCRIBE_VARIABLE : undefined);

export type Part = 'sms' | 'subject' | 'text' | 'html';
export const PARTS: Readonly<Record<Channel, readonly Part[]>> = { sms: ['sms'], email: ['subject', 'text', 'html'] };

/** Liquid sources by part. */
export type LocaleParts = Partial<Record<Part, string>>;

/** A template that a provider keeps: its id there, and which of our variables stands for each of its placeholders. */
export interface ProviderOwner { provider: 'twilio'; id: string; variables: Record<string, string> }

/** Whose template it is, in a word. */
export const ownerName = (owner: TemplateVersion['owner']): string => (owner === 'ours' ? owner : owner.provider);

/** One immutable, numbered version of a template with all its sources: plain JSON, to be stored as it is. */
export interface TemplateVersion {
  name: string;
  version: number;
  channel: Channel;
  owner: 'ours' | ProviderOwner;
  classification: 'transactional' | 'commercial' | 'subscription';
  variables: Record<string, VariableRule>;
  locales: Record<string, LocaleParts>;
  fallbackLocale: string;
  /** Left out where the file states none of them, so that versions published before keep their hash. */
  terms?: TemplateTerms;
  /** sha-256, hex, over the RFC 8785 text of everything else here. */
  hash: string;
}

/** The hash of a template version's content. */
export const templateHash = ({ name, version, channel, owner, classification, variables, locales, fallbackLocale, terms }: Omit<TemplateVersion, 'hash'>): string =>
  createHash('sha256')
    .update(canonicalText({ name, version, channel, owner, classification, variables, locales, fallbackLocale, ...(terms === undefined ? {} : { terms }) }), 'utf8')
    .digest('hex');

/** Completes a template version with its hash. */
export const withHash = (content: Omit<TemplateVersion, 'hash'>): TemplateVersion => ({ ...content, hash: templateHash(content) });

/** The locale in which a template is rendered for a reader: the same tag, else its language, else the template's fallback. */
export const resolveLocale = (template: Pick<TemplateVersion, 'locales' | 'fallbackLocale'>, wanted: string): string => {
  if (Object.hasOwn(template.locales, wanted)) return wanted;
  const known = Object.keys(template.locales);
  const tags = wanted.toLowerCase().split('-');
  for (let length = tags.length; length > 0; length -= 1) {
    const candidate = tags.slice(0, length).join('-');
    const found = known.find((locale) => locale.toLowerCase() === candidate);
    if (found) return found;
  }
  return template.fallbackLocale;
};
