import { z } from 'zod';
import type { Roster } from '../../shared/content/roster.ts';
import { findPerson, knownCategories } from '../../shared/content/roster.ts';
import { normaliseEmail, normalisePhone } from '../../shared/content/address.ts';
import type { Cures } from './faults.ts';
import { isBlank } from '../../shared/config/reason-text.ts';
import { freeText, localeField, oneLine, readAs, readFields, regionField } from './faults.ts';
import { Problem } from './problem.ts';

export const MESSAGE_LIMIT = 10_000;

/** A ticket as the form sends it, checked and normalised; absent fields are null. */
export interface TicketFields {
  category: string; message: string; region: string; locale: string; playerRef: string;
  contact: { sms: string | null; email: string | null };
  onCall: string | null;
  /** Idempotency key of the form; null where the client sent none. */
  formToken: string | null;
}

export const TICKET_CURES: Cures = {
  message: `describe the problem in plain text of at most ${MESSAGE_LIMIT.toLocaleString('en')} characters`,
  region: 'give two capital letters, such as US or EU',
  locale: 'give a BCP 47 tag, such as en-US or de',
  player_ref: 'give the player\'s id in at most 128 visible characters, without line breaks',
  contact: 'give an object with sms, email or both, or leave it out',
  'contact.sms': 'write the number with + and country code, such as +1 202 555 0123, or leave it out',
  'contact.email': 'write an address such as name@example.com, or leave it out',
  form_token: 'leave it as the form gave it, or leave it out',
};

/** The body of `POST /tickets`. */
export const ticketSchema = (roster: Roster, demo: boolean) => z.strictObject({
  category: z.string().refine((name) => knownCategories(roster).includes(name), 'is not a known category'),
  message: freeText(MESSAGE_LIMIT).refine((text) => !isBlank(text), 'is empty'),
  region: regionField,
  locale: localeField,
  // Half of 128 astral characters would already be too long for the templates' own limit.
  player_ref: oneLine(128),
  contact: z.strictObject({
    sms: readAs(normalisePhone, 'is not a valid phone number').optional(),
    email: readAs(normaliseEmail, 'is not a valid email address').optional(),
  }).optional(),
  form_token: z.string().regex(/^[\x21-\x7e]{1,200}$/, 'is not a form token').optional(),
  ...(demo ? { on_call: z.string().refine((id) => findPerson(roster, id) !== null, 'is nobody in the roster').optional() } : {}),
});

/** Makes the reader of tickets. `on_call` is a field in the demo only. The reader throws a Problem naming every fault. */
export const createTicketReader = (roster: Roster, demo: boolean): ((body: unknown) => TicketFields) => {
  const schema = ticketSchema(roster, demo);
  const categories = knownCategories(roster);
  const cures: Cures = { ...TICKET_CURES, category: `use one of ${categories.join(', ')}`, on_call: `use one of ${roster.people.map((person) => person.id).join(', ')}` };
  return (body) => {
    try {
      const read = readFields(schema, body, cures) as z.output<typeof schema> & { on_call?: string | undefined };
      return {
        category: read.category, message: read.message, region: read.region, locale: read.locale, playerRef: read.player_ref,
        contact: { sms: read.contact?.sms ?? null, email: read.contact?.email ?? null },
        onCall: read.on_call ?? null, formToken: read.form_token ?? null,
      };
    } catch (error) {
      if (!(error instanceof Problem) || !error.details.faults?.some((fault) => fault.field === 'category')) throw error;
      throw new Problem({ ...error.details, members: { ...error.details.members, known_categories: categories } });
    }
  };
};
