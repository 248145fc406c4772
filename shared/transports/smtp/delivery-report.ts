import type { ParsedMail } from 'mailparser';
import { simpleParser } from 'mailparser';
import type { StatusReading } from '../../domain/provider-answers.ts';
import { meaningOfReport } from './report-table.ts';

/** What a report says of one recipient. */
export interface ReportedRecipient {
  action: string;
  /** `5.1.1`; where the field says no more than `5.0.0`, the one in the diagnostic text. */
  status: string | null;
  /** The address as we gave it, where the server says so; else where it went. */
  address: string | null;
  diagnostic: string | null;
}

/** A delivery report (RFC 3464): which message it is about, by the names that we gave it, and what became of it. */
export interface DeliveryReport { envelopeId: string | null; messageId: string | null; recipients: ReportedRecipient[] }

type Fields = Map<string, string>;
const DIAGNOSTIC_CHARS = 2_000;

/** The groups of fields in a `message/delivery-status`: of the message first, then one of each recipient. */
const groupsOf = (text: string): Fields[] => text.replace(/\r\n?/g, '\n').split(/\n[ \t]*\n+/).map((block) => {
  const fields: Fields = new Map();
  for (const line of block.replace(/\n(?=[ \t])/g, '').split('\n')) {
    const [, name, value] = /^([!-9;-~]+):(.*)$/.exec(line) ?? [];
    // of a field that stands twice the first counts
    if (name !== undefined && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), (value ?? '').trim());
  }
  return fields;
}).filter((fields) => fields.size > 0);

/** The address behind `rfc822;`. */
const addressIn = (field: string | undefined): string | null => /^[^;]*;\s*<?([^\s<>]+@[^\s<>]+?)>?\s*$/.exec(field ?? '')?.[1] ?? null;

const STATUS = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/;
const statusOf = (fields: Fields): string | null => {
  const status = STATUS.exec(fields.get('status') ?? '')?.[1] ?? null;
  const precise = status === null || status.endsWith('.0.0') ? STATUS.exec(fields.get('diagnostic-code') ?? '')?.[1] : undefined;
  return precise ?? status;
};

const recipientOf = (fields: Fields): ReportedRecipient => ({
  action: (fields.get('action') ?? '').toLowerCase(), status: statusOf(fields),
  address: addressIn(fields.get('original-recipient')) ?? addressIn(fields.get('final-recipient')),
  diagnostic: fields.get('diagnostic-code')?.slice(0, DIAGNOSTIC_CHARS) ?? null,
});

/** The Message-ID in the header of the message that came back, unfolded; none from the body below it. */
const messageIdIn = (returned: string): string | null => {
  const end = /\r?\n\r?\n/.exec(returned)?.index ?? returned.length;
  return /^message-id:[ \t]*(<[^\r\n<>]+>)[ \t]*$/im.exec(returned.slice(0, end).replace(/\r?\n(?=[ \t])/g, ''))?.[1] ?? null;
};

const partOf = (mail: ParsedMail, types: readonly string[]): string | null =>
  mail.attachments.find(({ contentType }) => types.includes(contentType.toLowerCase()))?.content.toString('utf8') ?? null;

const isReport = (mail: ParsedMail): boolean => {
  const type = mail.headers.get('content-type') as { value?: string; params?: Record<string, string> } | undefined;
  return type?.value?.toLowerCase() === 'multipart/report' && type.params?.['report-type']?.toLowerCase() === 'delivery-status';
};

/**
 * Reads a mail as a delivery report; null where it is none. A report that is quoted in another mail, an automatic answer and a bounce in prose are
 * none: nothing is guessed from a text. Nor is what the parser refuses (too many parts, too long a header): anybody may send it, and it must not hold up the others.
 */
export const readDeliveryReport = async (raw: Buffer): Promise<DeliveryReport | null> => {
  const mail = await simpleParser(raw, { keepDeliveryStatus: true, skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true }).catch(() => null);
  if (mail === null) return null;
  const status = isReport(mail) ? partOf(mail, ['message/delivery-status', 'message/global-delivery-status']) : null;
  const [ofMessage, ...ofRecipients] = groupsOf(status ?? '');
  if (!ofMessage || ofRecipients.length === 0) return null;
  const returned = partOf(mail, ['message/rfc822', 'text/rfc822-headers', 'message/rfc822-headers', 'message/global', 'message/global-headers']);
  return { envelopeId: ofMessage.get('original-envelope-id') ?? null, messageId: returned === null ? null : messageIdIn(returned), recipients: ofRecipients.map(recipientOf) };
};

/** What is to be recorded of a recipient's report; the server's own words go into the sealed evidence. */
export const readingOfReport = ({ action, status, diagnostic }: ReportedRecipient): Extract<StatusReading, { kind: 'observed' }> => ({
  kind: 'observed', ...meaningOfReport(action, status), laterBounce: action === 'failed',
  raw: { code: `${action} ${status ?? ''}`.trim(), ...(diagnostic === null ? {} : { text: diagnostic }) },
});
