/** What a mail server says of a message, as it would stand in its report. */
export interface Report {
  action: string;
  status: string;
  diagnostic?: string;
  /** Of the message that comes back; null where only the envelope id says which it is. */
  messageId: string | null;
  envelopeId?: string;
  /** Recipients, each with the same action; one is usual. */
  to?: string[];
  /** What of the message comes back. */
  returned?: 'headers' | 'message';
}

const crlf = (lines: readonly (string | null)[]): string => lines.filter((line) => line !== null).join('\r\n');

/** A delivery report (RFC 3464) as a mail server writes it, byte for byte. */
export const reportMail = ({ action, status, diagnostic, messageId, envelopeId, to = ['someone@example.com'], returned = 'headers' }: Report): Buffer => Buffer.from(crlf([
  'Return-Path: <>',
  'Date: Sun, 29 Nov 2026 12:00:30 +0000',
  'From: Mail Delivery System <MAILER-DAEMON@mx.example.net>',
  'To: tocsin@example.com',
  'Subject: Delivery Status Notification',
  'Auto-Submitted: auto-replied',
  'MIME-Version: 1.0',
  'Content-Type: multipart/report; report-type=delivery-status;',
  '\tboundary="12AB34/mx.example.net"',
  'Message-Id: <20261129120030.12AB34@mx.example.net>',
  '',
  'This is a MIME-encapsulated message.',
  '',
  '--12AB34/mx.example.net',
  'Content-Description: Notification',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  'This is the mail system at host mx.example.net. Grüße.',
  '',
  '--12AB34/mx.example.net',
  'Content-Description: Delivery report',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example.net',
  envelopeId === undefined ? null : `Original-Envelope-Id: ${envelopeId}`,
  'Arrival-Date: Sun, 29 Nov 2026 12:00:01 +0000',
  ...to.flatMap((address) => [
    '', `Final-Recipient: rfc822; ${address}`, `Original-Recipient: rfc822;${address}`, `Action: ${action}`, `Status: ${status}`, 'Remote-MTA: dns; mail.example.org',
    diagnostic === undefined ? null : `Diagnostic-Code: smtp; ${diagnostic}`,
  ]),
  '',
  ...(messageId === null ? [] : [
    '--12AB34/mx.example.net',
    'Content-Description: Undelivered Message',
    `Content-Type: ${returned === 'headers' ? 'text/rfc822-headers' : 'message/rfc822'}`,
    '',
    'Received: from app.example.com (app.example.com [192.0.2.7])',
    '\tby mx.example.net (Postfix) with ESMTP id 12AB34',
    'From: Tocsin <tocsin@example.com>',
    'Message-ID:',
    ` ${messageId}`,
    'Subject: =?UTF-8?Q?Reset?=',
    ...(returned === 'headers' ? [''] : ['', 'Message-ID: <in-the-body@example.com>', '']),
  ]),
  '--12AB34/mx.example.net--',
  '',
]), 'utf8');
