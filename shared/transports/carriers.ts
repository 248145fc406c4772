import type { Channel } from '../domain/words.ts';
import type { ProviderName } from '../domain/provider-answers.ts';
import type { Carrier } from '../domain/work.ts';

/** An hour less than the provider keeps a key: its 24 hours begin when the request arrives, by its own clock. */
const RESEND_KEY_LIFE_MS = 23 * 3_600_000;
/** The provider states no lag of its listing, so this is an assumption on the safe side. */
const SINCH_VISIBLE_AFTER_MS = 10_000;

/** What each adapter declares of itself (source: docs/providers.md). */
export const PROVIDERS: { readonly [Name in ProviderName]: Carrier & { name: Name } } = {
  twilio: { name: 'twilio', capabilities: { dedup: 'none', reconcile: 'heuristic', evidence: 'carrier', statusByPoll: true } },
  sinch: { name: 'sinch', capabilities: { dedup: 'none', reconcile: 'reference', visibleAfterMs: SINCH_VISIBLE_AFTER_MS, evidence: 'carrier', statusByPoll: true } },
  smtp: { name: 'smtp', capabilities: { dedup: 'none', reconcile: 'none', evidence: 'none', statusByPoll: false } },
  resend: { name: 'resend', capabilities: { dedup: 'replay', replayWithinMs: RESEND_KEY_LIFE_MS, reconcile: 'replay', evidence: 'mta', statusByPoll: true } },
};

/** A mail server whose delivery reports are read: accepted is not the last that is heard, though silence never becomes *delivered*. */
const SMTP_WITH_REPORTS: Carrier = { name: 'smtp', capabilities: { ...PROVIDERS.smtp.capabilities, reportsByMail: true } };

/** Which adapter carries each channel in this deployment. */
export interface TransportChoice { sms: 'twilio' | 'sinch'; email: 'smtp' | 'resend'; /** The mailbox that delivery reports go to is read. */ mailReports?: boolean }

/** What the chosen adapters declare, known without opening them: the decider needs it where nothing is sent. */
export const carriersFor = ({ sms, email, mailReports }: TransportChoice): Record<Channel, Carrier> =>
  ({ sms: PROVIDERS[sms], email: email === 'smtp' && mailReports ? SMTP_WITH_REPORTS : PROVIDERS[email] });

/** The carriers of a deployment that chooses nothing. */
export const CARRIERS: Record<Channel, Carrier> = carriersFor({ sms: 'twilio', email: 'smtp' });
