import type { SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection';
import type { RawAnswer, SubmitResult } from '../../domain/provider-answers.ts';
import { faultPoint } from '../../telemetry/fault-points.ts';
import { BrokenAttachment, mailPieces, mailSize } from '../mail-body.ts';
import type { SubmitRequest } from '../transport.ts';
import type { SmtpCommand, SmtpReply } from './error-table.ts';
import { failureReplyOf, meaningOfReply } from './error-table.ts';
import type { SmtpPool } from './pool.ts';
import { SmtpFailure } from './session.ts';

/** How far a submission got. Only past `dot` can the server have the whole message. */
export type Progress = 'connecting' | 'connected' | 'dot';

const RAW_TEXT_CHARS = 2_000;
const rawOf = (text: string): RawAnswer => ({ code: text.slice(0, 3), text: text.slice(0, RAW_TEXT_CHARS) });

const resultOfReply = (reply: SmtpReply, command: SmtpCommand): SubmitResult => {
  const raw = { ...rawOf(reply.text), code: reply.enhanced ? `${reply.code} ${reply.enhanced}` : reply.code };
  const meaning = meaningOfReply(reply, command);
  switch (meaning.class) {
    case 'rejected':
      return { kind: 'rejected', outcome: 'rejected', reason: meaning.reason, raw };
    case 'deferred':
      return { kind: 'deferred', reason: meaning.reason, retryAfterMs: null, raw };
    case 'unavailable_auth':
      return { kind: 'provider_unavailable', reason: 'provider_auth', raw };
    case 'unavailable_account':
      return { kind: 'provider_unavailable', reason: 'provider_account', raw };
  }
};

/** What a failure means, given how far the submission got. A failure reply is definite at every stage, also after the dot. */
export const resultOfFailure = (failure: SmtpFailure, progress: Progress): SubmitResult => {
  if (failure.reply) return resultOfReply(failure.reply, failure.command);
  if (failure.kind === 'bad_address') return { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination' };
  if (failure.kind === 'too_large') return { kind: 'rejected', outcome: 'rejected', reason: 'content_refused' };
  if (progress === 'dot') {
    if (failure.kind === 'timed_out') return { kind: 'unknown', reason: 'request_timeout' };
    return { kind: 'unknown', reason: failure.kind === 'nonsense' ? 'answer_not_understood' : 'lost_response' };
  }
  // credentials that no offered method can use never pass by waiting
  if (failure.kind === 'login_impossible') return { kind: 'provider_unavailable', reason: 'provider_auth' };
  return { kind: 'deferred', reason: progress === 'connecting' ? 'connection_refused' : 'reset_before_write', retryAfterMs: null };
};

/**
 * What a message that the library calls sent came to. It also says so where the server refused a recipient among several
 * (`rejected`), and where a reply came before the end of the data left.
 */
export const resultOfDelivery = (info: SMTPConnectionSendInfo, progress: Progress, providerMessageId: string): SubmitResult => {
  const refused = failureReplyOf(info.rejectedErrors?.[0]?.response);
  if (info.accepted.length === 0 && refused) return resultOfReply(refused, 'rcpt');
  if (info.accepted.length === 0 || progress !== 'dot') return { kind: 'unknown', reason: 'answer_not_understood', raw: rawOf(info.response) };
  return { kind: 'accepted', providerMessageId, raw: rawOf(info.response) };
};

/** The address in `Name <address>`, or the text itself. */
export const addressOf = (mailbox: string): string => /<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox.trim();

/** The Message-ID in a message's header, unfolded, with its angle brackets; null where it has none. */
export const messageIdOf = (mime: string): string | null => {
  const end = mime.indexOf('\r\n\r\n');
  const header = (end < 0 ? mime : mime.slice(0, end)).replace(/\r\n(?=[ \t])/g, '');
  return /^message-id:[ \t]*(<[^\r\n<>]+>)/im.exec(header)?.[1] ?? null;
};

/** One MAIL/RCPT/DATA transaction on a pooled connection, within `timeoutMs` (or the request's own limit) as a whole; never repeated here. */
export const submit = async (pool: SmtpPool, { attemptKey, message, mayStart, openArtifact, limitMs }: SubmitRequest, timeoutMs: number): Promise<SubmitResult> => {
  if (message.channel !== 'email') throw new Error('smtp carries email only');
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), limitMs ?? timeoutMs);
  let progress: Progress = 'connecting';
  try {
    const session = await pool.acquire(limit.signal);
    try {
      progress = 'connected';
      if (!mayStart()) return { kind: 'abandoned', reason: 'start_too_late' };
      const info = await session.deliver(
        { from: addressOf(message.from), to: addressOf(message.to), envelopeId: attemptKey },
        message.attachments ? { size: mailSize(message), pieces: () => mailPieces(message, openArtifact) } : Buffer.from(message.mime, 'utf8'),
        { onDot: () => { progress = 'dot'; }, onDotWritten: () => faultPoint('bytes-sent'), signal: limit.signal },
      );
      return resultOfDelivery(info, progress, messageIdOf(message.mime) ?? attemptKey);
    } finally {
      pool.release(session);
    }
  } catch (error) {
    if (error instanceof BrokenAttachment) return { kind: 'unsendable', reason: error.reason };
    if (error instanceof SmtpFailure) return resultOfFailure(error, progress);
    throw error;
  } finally {
    clearTimeout(timer);
  }
};
