import type { Socket } from 'node:net';
import { simpleParser } from 'mailparser';
import type { ParsedMail } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerSession } from 'smtp-server';
import type { Receipt } from './inbox.ts';
import type { Provider } from './provider.ts';
import type { SubmitStep } from './script.ts';
import { isAccepted, newMessageId, sha256 } from './submission.ts';

/** A refusal as the protocol gives it. */
class Reply extends Error {
  readonly responseCode: number;
  constructor(code: number, text: string) {
    super(text);
    this.responseCode = code;
  }
}

interface Recipient { to: string; step: SubmitStep }
type Done = (error?: Error | null, text?: string) => void;

const MAX_MESSAGE_BYTES = 40 * 1024 * 1024;
const LONGER_THAN_ANY_HANG_MS = 3_600_000;
const KEPT_HEADERS = ['message-id', 'date', 'list-unsubscribe', 'list-unsubscribe-post', 'auto-submitted', 'reply-to', 'references', 'in-reply-to'];
const ATTEMPT_KEY = /^evt_[0-9A-Za-z]+\.[a-z]+\.\d+$/;
const asKey = (text: string | undefined): string | null => (text !== undefined && ATTEMPT_KEY.test(text) ? text : null);

const replyOf = (step: SubmitStep): Reply | null => {
  switch (step.submit) {
    case 'reject': {
      const enhanced = step.enhanced ?? (step.code === undefined || step.code >= 500 ? '5.1.1' : '4.2.0');
      return new Reply(step.code ?? 550, `${enhanced} Refused by the script`);
    }
    case 'throttle': return new Reply(step.code ?? 451, `${step.enhanced ?? '4.7.1'} Try again later`);
    case 'fail':
    case 'fail_after_accept': return new Reply(step.code ?? 451, '4.3.0 Local error in processing');
    default: return null;
  }
};

const isAtRcpt = (step: SubmitStep): boolean =>
  step.submit === 'drop_before_read' || ('at' in step && step.at === 'rcpt') || (step.submit === 'reject' && step.at === undefined);

const readAll = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const headersOf = (mail: ParsedMail): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const { key, line } of mail.headerLines) {
    if (KEPT_HEADERS.includes(key)) kept[key] = line.slice(line.indexOf(':') + 1).replace(/\r?\n\s+/g, ' ').trim();
  }
  return kept;
};

export interface SmtpProvider { server: SMTPServer; destroyConnections(): void }

/**
 * A mail server without TLS or login that takes everything and answers as the scenarios say. The attempt key is the local part
 * of the Message-ID (or the ENVID of RFC 3461, which is known before the data).
 */
export const createSmtpProvider = ({ inbox, book, outages, now }: Provider): SmtpProvider => {
  const sockets = new Map<number, Socket>();
  const recipients = new WeakMap<SMTPServerSession, Recipient[]>();
  const drop = (session: SMTPServerSession): void => {
    sockets.get(session.remotePort)?.destroy();
  };
  const envidKey = (session: SMTPServerSession): string | null => asKey(session.envelope.dsn?.envid ?? undefined);
  const mailFrom = (session: SMTPServerSession): string | null => session.envelope.mailFrom ? session.envelope.mailFrom.address : null;

  const receiptOf = (session: SMTPServerSession, recipient: Recipient, overrides: Partial<Receipt>): Receipt => {
    const accepted = isAccepted(recipient.step);
    return {
      kind: accepted ? 'accepted' : 'refused', id: newMessageId('EM'), channel: 'email', to: recipient.to, from: mailFrom(session),
      messagingServiceSid: null, body: null, subject: null, text: null, html: null, headers: {}, attemptKey: envidKey(session),
      receivedAt: now(), behaviour: recipient.step.submit, code: replyOf(recipient.step)?.responseCode ?? null, segments: null,
      contentSha256: '', fate: accepted ? book.fateOf(recipient.to, 'email') : null, ...overrides,
    };
  };

  const onRcpt = async (to: string, session: SMTPServerSession, done: Done): Promise<void> => {
    const recipient = { to, step: book.draw(to, 'email') };
    if (!isAtRcpt(recipient.step)) {
      recipients.set(session, [...recipients.get(session) ?? [], recipient]);
      done();
      return;
    }
    await inbox.record(receiptOf(session, recipient, {}));
    if (recipient.step.submit === 'drop_before_read') drop(session);
    else if (recipient.step.submit !== 'hang') done(replyOf(recipient.step));
  };

  /** One answer for all recipients: that of the first whose step is not a plain acceptance. */
  const answer = (session: SMTPServerSession, steps: SubmitStep[], id: string, done: Done): void => {
    const step = steps.find((candidate) => candidate.submit !== 'accept') ?? steps[0];
    if (!step || step.submit === 'accept') {
      const reply = (): void => done(null, `2.0.0 Ok: queued as ${id}`);
      if (step?.answerAfterMs) setTimeout(reply, step.answerAfterMs).unref();
      else reply();
    } else if (step.submit === 'lose_response') drop(session);
    else if (step.submit === 'nonsense') sockets.get(session.remotePort)?.write('It works!\r\n');
    else if (step.submit !== 'hang') done(replyOf(step));
  };

  const onData = async (raw: Buffer, session: SMTPServerSession, done: Done): Promise<void> => {
    const mail = await simpleParser(raw, { skipTextToHtml: true, skipImageLinks: true });
    const attemptKey = asKey(/^<?([^@>]+)@/.exec(mail.messageId ?? '')?.[1]) ?? envidKey(session);
    const settled = (recipients.get(session) ?? []).map(({ to, step }) => ({ to, step: book.settle(step, to, attemptKey) }));
    recipients.delete(session);
    const receipts = settled.map((recipient) => receiptOf(session, recipient, {
      attemptKey, subject: mail.subject ?? null, text: mail.text ?? null, html: mail.html || null, headers: headersOf(mail), contentSha256: sha256(raw),
      ...(mail.attachments.length > 0 ? { attachments: mail.attachments.map(({ filename, contentType, content }) => ({ name: filename ?? null, type: contentType, bytes: content.length, sha256: sha256(content) })) } : {}),
    }));
    await Promise.all(receipts.map((receipt) => inbox.record(receipt)));
    answer(session, settled.map(({ step }) => step), receipts[0]?.id ?? '', done);
  };

  /** A receipt that could not be written down is never acknowledged. */
  const guarded = (work: Promise<void>, done: Done): void => {
    work.catch(() => done(new Reply(451, '4.3.0 The receipt could not be written')));
  };

  const server = new SMTPServer({
    authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'], hideSTARTTLS: true, hideDSN: false, disableReverseLookup: true, logger: false,
    name: 'sandbox', size: MAX_MESSAGE_BYTES, maxAllowedUnauthenticatedCommands: false, socketTimeout: LONGER_THAN_ANY_HANG_MS, closeTimeout: 1,
    onConnect(_session, done) {
      if (outages.kind('email') === 'refuse') done(new Reply(421, '4.3.2 Service not available'));
      else if (outages.kind('email') !== 'hang') done();
    },
    onMailFrom(_address, session, done) {
      recipients.delete(session);
      const outage = outages.kind('email');
      if (outage === 'error500') done(new Reply(451, '4.3.0 Local error in processing'));
      else if (outage === 'refuse') done(new Reply(421, '4.3.2 Service not available'));
      else if (outage !== 'hang') done();
    },
    onRcptTo: (address, session, done) => guarded(onRcpt(address.address, session, done), done),
    onData: (stream, session, done) => guarded(readAll(stream).then((raw) => onData(raw, session, done)), done),
  });
  // clients that vanish are what this server is for
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    const port = socket.remotePort;
    if (port === undefined) return;
    sockets.set(port, socket);
    socket.once('close', () => sockets.delete(port));
  });
  return {
    server,
    destroyConnections() {
      for (const socket of sockets.values()) socket.destroy();
    },
  };
};
