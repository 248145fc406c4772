import { join } from 'node:path';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';

export const MAILING_DIR = join(import.meta.dirname, '../content/mailing');

/** Commercial mail of a shop, which is no shipped purpose. */
export const mailingVersions = () => ({ policies: loadPolicies(join(MAILING_DIR, 'policies')), templates: loadTemplates(join(MAILING_DIR, 'templates')) });

let count = 0;
/** The body of a notification of it. */
export const anOffer = (email: string, more: Record<string, unknown> = {}): Record<string, unknown> => {
  count += 1;
  return { purpose: 'shop-offers', recipient: { ref: `reader-${count}`, email, region: 'US', locale: 'en', consent: ['email:marketing'] }, variables: { offer: 'A brass lamp' }, ...more };
};

/** What a mail program posts (RFC 8058). */
export const ONE_CLICK_BODY = { 'List-Unsubscribe': 'One-Click' };
/** The link that a mail's header names. */
export const linkOf = (header: string | undefined): URL => new URL(/^<(https:\/\/[^<>]+)>$/.exec(header ?? '')?.[1] ?? '');
