import { describe, expect, it, test } from '@jest/globals';
import { REASONS } from '../../shared/domain/reasons.ts';
import type { SmtpCommand } from '../../shared/transports/smtp/error-table.ts';
import { SMTP_ERRORS, failureReplyOf, meaningOfReply } from '../../shared/transports/smtp/error-table.ts';
import { addressOf, messageIdOf, resultOfDelivery } from '../../shared/transports/smtp/submit.ts';
import { readSmtpUrl } from '../../shared/transports/smtp/url.ts';

const meaning = (text: string, command: SmtpCommand) => {
  const reply = failureReplyOf(text);
  if (!reply) throw new Error('not a failure reply');
  return meaningOfReply(reply, command);
};

describe('SMTP replies', () => {
  const rows: [string, SmtpCommand, string, string][] = [
    ['421 4.3.2 shutting down', 'rcpt', 'deferred', 'rate_limited'],
    ['450 4.7.1 slow down', 'mail', 'deferred', 'rate_limited'],
    ['452 4.5.3 too many recipients', 'rcpt', 'deferred', 'rate_limited'],
    ['450 4.2.1 mailbox busy', 'rcpt', 'deferred', 'provider_temporary'],
    ['451 try again', 'data', 'deferred', 'provider_temporary'],
    ['454 4.7.0 temporary authentication failure', 'auth', 'deferred', 'rate_limited'],
    ['535 5.7.8 bad credentials', 'auth', 'unavailable_auth', 'provider_auth'],
    ['504 5.5.4 no such mechanism', 'auth', 'unavailable_auth', 'provider_auth'],
    ['530 5.7.0 authentication required', 'mail', 'unavailable_auth', 'provider_auth'],
    ['534 5.7.9 stronger mechanism', 'mail', 'unavailable_auth', 'provider_auth'],
    ['535 no', 'mail', 'unavailable_auth', 'provider_auth'],
    ['538 encrypt', 'mail', 'unavailable_auth', 'provider_auth'],
    ['554 no service here', 'connect', 'unavailable_account', 'provider_account'],
    ['550 5.1.7 bad sender', 'mail', 'rejected', 'refused_by_provider'],
    ['550 5.1.8 bad sender domain', 'mail', 'rejected', 'refused_by_provider'],
    ['550 5.1.1 no such user', 'rcpt', 'rejected', 'invalid_destination'],
    ['550-5.1.1 no such user', 'rcpt', 'rejected', 'invalid_destination'],
    ['553 5.1.3 bad address', 'rcpt', 'rejected', 'invalid_destination'],
    ['550 5.1.10 null mx', 'rcpt', 'rejected', 'invalid_destination'],
    ['552 5.2.2 mailbox full', 'rcpt', 'rejected', 'refused_by_provider'],
    ['554 5.6.0 bad content', 'data', 'rejected', 'content_refused'],
    ['550 5.7.1 not authorized', 'data', 'rejected', 'refused_by_provider'],
    ['550 5.7.26 unauthenticated mail', 'data', 'rejected', 'content_refused'],
    ['552 too big', 'data', 'rejected', 'content_refused'],
    ['550 no', 'rcpt', 'rejected', 'invalid_destination'],
    ['551 user not local', 'rcpt', 'rejected', 'invalid_destination'],
    ['553 no', 'rcpt', 'rejected', 'invalid_destination'],
    ['550 no', 'data', 'rejected', 'refused_by_provider'],
    ['501 syntax', 'mail', 'rejected', 'refused_by_provider'],
    ['599', 'data', 'rejected', 'refused_by_provider'],
  ];
  test.each(rows)('%s to %s', (text, command, errorClass, reason) => expect(meaning(text, command)).toEqual({ class: errorClass, reason }));

  it('has no row that another hides, and no reason outside the list', () => {
    const first = rows.map(([text, command]) => {
      const reply = failureReplyOf(text);
      return SMTP_ERRORS.findIndex((row) => reply && reply.code.startsWith(row.code ?? '')
        && (!row.enhanced || `${reply.enhanced ?? ''}.`.startsWith(`${row.enhanced}.`)) && (!row.command || row.command === command));
    });
    expect([...new Set(first)].sort((a, b) => a - b)).toEqual(SMTP_ERRORS.map((_, index) => index));
    for (const { reason } of SMTP_ERRORS) expect(REASONS).toHaveProperty(reason);
  });

  test.each(['250 ok', '354 go ahead', '', '55', '5500 5.1.1', 'five', undefined])('%j is no failure reply', (text) =>
    expect(failureReplyOf(text)).toBeNull());
});

describe('what a server accepted', () => {
  const info = { accepted: [] as string[], rejected: [] as string[], response: '250 queued', envelopeTime: 0, messageTime: 0, messageSize: 1 };
  const refusal = Object.assign(new Error('refused'), { response: '550 5.1.1 no such user' });

  it('is not our message where every recipient was refused, although the send succeeded', () => {
    expect(resultOfDelivery({ ...info, rejected: ['a@example.com'], rejectedErrors: [refusal] }, 'dot', '<1@x>'))
      .toMatchObject({ kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination' });
  });

  it('survives one bad address among several', () => {
    expect(resultOfDelivery({ ...info, accepted: ['b@example.com'], rejected: ['a@example.com'], rejectedErrors: [refusal] }, 'dot', '<1@x>'))
      .toMatchObject({ kind: 'accepted', providerMessageId: '<1@x>' });
  });

  it('is unknown where success was claimed before the message had left', () => {
    expect(resultOfDelivery({ ...info, accepted: ['b@example.com'] }, 'connected', '<1@x>')).toMatchObject({ kind: 'unknown' });
  });
});

describe('reading a message and an SMTP_URL', () => {
  it('finds the Message-ID in the header only, also folded', () => {
    expect(messageIdOf('Subject: x\r\nMessage-ID: <evt.email.1@example.com>\r\n\r\nhi')).toBe('<evt.email.1@example.com>');
    expect(messageIdOf('message-id:\r\n <a@b>\r\nSubject: x\r\n\r\nhi')).toBe('<a@b>');
    expect(messageIdOf('Subject: x\r\n\r\nMessage-ID: <no@no>\r\n')).toBeNull();
    expect(messageIdOf('X-Message-ID: <no@no>\r\n\r\n')).toBeNull();
  });

  it('takes the bare address out of a mailbox with a name', () => {
    expect(addressOf('Tocsin <no-reply@example.com>')).toBe('no-reply@example.com');
    expect(addressOf(' a@example.com ')).toBe('a@example.com');
  });

  it('reads host, port, credentials and TLS wishes', () => {
    expect(readSmtpUrl('smtp://127.0.0.1:2525')).toEqual({
      options: { host: '127.0.0.1', port: 2525, secure: false, ignoreTLS: false, requireTLS: false }, credentials: null,
    });
    expect(readSmtpUrl('smtps://u%40x:p%3Aw@mail.example.com')).toMatchObject({
      options: { host: 'mail.example.com', port: 465, secure: true }, credentials: { user: 'u@x', pass: 'p:w' },
    });
  });

  it('does not send credentials in plain text beyond this machine unless told to', () => {
    expect(readSmtpUrl('smtp://u:p@mail.example.com').options.requireTLS).toBe(true);
    expect(readSmtpUrl('smtp://u:p@127.0.0.1').options.requireTLS).toBe(false);
    expect(readSmtpUrl('smtp://u:p@mail.example.com?ignoreTLS=true').options).toMatchObject({ requireTLS: false, ignoreTLS: true });
  });

  test.each(['', 'mail.example.com', 'http://secret@x', 'smtp://'])('refuses %j without repeating it', (url) =>
    expect(() => readSmtpUrl(url)).toThrow(/^SMTP_URL is not of the form/));
});
