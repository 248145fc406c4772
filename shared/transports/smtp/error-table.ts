import type { ReasonCode } from '../../domain/reasons.ts';

/** The dialogue up to which a reply refers; `data` is both the DATA command and the reply after the final dot. */
export type SmtpCommand = 'connect' | 'auth' | 'mail' | 'rcpt' | 'data';

export type SmtpErrorClass = 'rejected' | 'deferred' | 'unavailable_auth' | 'unavailable_account';
export interface SmtpErrorMeaning { class: SmtpErrorClass; reason: ReasonCode }

export interface SmtpErrorRow extends SmtpErrorMeaning {
  /** Three-digit reply code, or its beginning. */
  code?: string;
  /** Enhanced status code (RFC 3463), or its beginning; whole parts only. */
  enhanced?: string;
  command?: SmtpCommand;
}

/**
 * What a 4xx or 5xx reply means; the first row that fits counts, and each says *not processed* (source: docs/providers.md,
 * Errors; RFC 5321, 3463, 4954). 4xx is always to be tried later. Rows with an enhanced code stand before bare reply codes.
 */
export const SMTP_ERRORS: readonly SmtpErrorRow[] = [
  { code: '421', class: 'deferred', reason: 'rate_limited' },
  { code: '4', enhanced: '4.7', class: 'deferred', reason: 'rate_limited' },
  { code: '452', enhanced: '4.5.3', class: 'deferred', reason: 'rate_limited' },
  { code: '4', class: 'deferred', reason: 'provider_temporary' },

  { code: '5', command: 'auth', class: 'unavailable_auth', reason: 'provider_auth' },
  { code: '530', class: 'unavailable_auth', reason: 'provider_auth' },
  { code: '534', class: 'unavailable_auth', reason: 'provider_auth' },
  { code: '535', class: 'unavailable_auth', reason: 'provider_auth' },
  { code: '538', class: 'unavailable_auth', reason: 'provider_auth' },
  // refused at the greeting or EHLO: the server does not want this client at all
  { code: '5', command: 'connect', class: 'unavailable_account', reason: 'provider_account' },

  // the two that are about the sender's address
  { code: '5', enhanced: '5.1.7', class: 'rejected', reason: 'refused_by_provider' },
  { code: '5', enhanced: '5.1.8', class: 'rejected', reason: 'refused_by_provider' },
  { code: '5', enhanced: '5.1', class: 'rejected', reason: 'invalid_destination' },
  // a full or disabled mailbox exists, so neither the address nor the content is at fault
  { code: '5', enhanced: '5.2', class: 'rejected', reason: 'refused_by_provider' },
  { code: '5', enhanced: '5.6', class: 'rejected', reason: 'content_refused' },
  // delivery not authorized: blocked sender, list or policy; providers use it for anything
  { code: '5', enhanced: '5.7.1', class: 'rejected', reason: 'refused_by_provider' },
  { code: '5', enhanced: '5.7', class: 'rejected', reason: 'content_refused' },
  { code: '552', class: 'rejected', reason: 'content_refused' },
  { code: '550', command: 'rcpt', class: 'rejected', reason: 'invalid_destination' },
  { code: '551', command: 'rcpt', class: 'rejected', reason: 'invalid_destination' },
  { code: '553', command: 'rcpt', class: 'rejected', reason: 'invalid_destination' },
  { code: '5', class: 'rejected', reason: 'refused_by_provider' },
];

export interface SmtpReply { code: string; enhanced: string | null; text: string }

/** Reads a failure reply; null where the text is not a complete 4xx or 5xx. */
export const failureReplyOf = (text: string | undefined): SmtpReply | null => {
  const match = /^([45]\d\d)(?:[ -](?:([45]\.\d{1,3}\.\d{1,3})(?=\s|$))?|$)/.exec(text ?? '');
  return match ? { code: match[1] as string, enhanced: match[2] ?? null, text: text as string } : null;
};

const fits = (row: SmtpErrorRow, reply: SmtpReply, command: SmtpCommand): boolean =>
  (row.code === undefined || reply.code.startsWith(row.code))
  && (row.enhanced === undefined || (reply.enhanced !== null && `${reply.enhanced}.`.startsWith(`${row.enhanced}.`)))
  && (row.command === undefined || row.command === command);

/** The meaning of a failure reply to a command. */
export const meaningOfReply = (reply: SmtpReply, command: SmtpCommand): SmtpErrorMeaning => {
  const row = SMTP_ERRORS.find((candidate) => fits(candidate, reply, command));
  if (!row) throw new Error('the last rows cover every 4xx and 5xx');
  return { class: row.class, reason: row.reason };
};
