import { isAscii } from 'node:buffer';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { SMTPConnectionOptions, SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { SmtpCommand, SmtpReply } from './error-table.ts';
import { failureReplyOf } from './error-table.ts';
import { messageStream, streamedMessage } from './message-stream.ts';
import type { SmtpTarget } from './url.ts';

/** Why a step of the dialogue did not succeed. The only error that this folder's functions reject with. */
export class SmtpFailure extends Error {
  readonly kind: 'replied' | 'lost' | 'timed_out' | 'nonsense' | 'too_large' | 'bad_address' | 'login_impossible';
  readonly command: SmtpCommand;
  readonly reply: SmtpReply | null;
  constructor(kind: SmtpFailure['kind'], command: SmtpCommand, reply: SmtpReply | null = null) {
    super(`smtp ${command}: ${kind}`);
    this.kind = kind;
    this.command = command;
    this.reply = reply;
  }
}

export interface SmtpEnvelope { from: string; to: string; /** Goes out as ENVID (RFC 3461), where the server takes that, and comes back in delivery reports. */ envelopeId?: string }

/** A message whose size is known and whose bytes are read as it is sent. */
export interface StreamedMail { size: number; pieces: () => AsyncGenerator<Buffer> }

/** One connection, greeted and logged in, that carries one message after another. */
export interface SmtpSession {
  isUsable(): boolean;
  /** Milliseconds since it last did something. */
  idleForMs(): number;
  /** Whether the last transaction ended cleanly, so that a new one may begin at once. */
  isClean(): boolean;
  messagesCarried(): number;
  /**
   * Writes MAIL FROM before it returns its promise; calls `onDot` before the end of the data may leave, `onDotWritten` after it left. Rejects with
   * what reading a streamed message failed with; the connection is ended then, and the server has no whole message.
   */
  deliver(envelope: SmtpEnvelope, message: Buffer | StreamedMail, options: { onDot: () => void; onDotWritten?: () => void; signal: AbortSignal }): Promise<SMTPConnectionSendInfo>;
  /** RSET: also proves that the server is still there. */
  reset(signal: AbortSignal): Promise<void>;
  /** Says QUIT and waits for the end of the connection. */
  quit(signal: AbortSignal): Promise<void>;
  destroy(): void;
}

interface LibraryError { code?: string | undefined; command?: string | undefined; response?: string | undefined }
type Done<T> = (error?: LibraryError | null, value?: T) => void;

const COMMANDS: readonly [RegExp, SmtpCommand][] = [
  [/^AUTH/, 'auth'], [/^MAIL/, 'mail'], [/^RCPT/, 'rcpt'], [/^DATA/, 'data'],
];

/** The library names the step in its error; for a connection that broke it does not, so the step we asked for counts. */
const failureOf = (error: LibraryError, asked: SmtpCommand): SmtpFailure => {
  const command = COMMANDS.find(([name]) => name.test(error.command ?? ''))?.[1] ?? asked;
  const reply = failureReplyOf(error.response);
  if (reply) return new SmtpFailure('replied', command, reply);
  if (error.code === 'EENVELOPE' && error.command === 'API') return new SmtpFailure('bad_address', command);
  if (error.code === 'EMESSAGE' && error.command === 'MAIL FROM') return new SmtpFailure('too_large', command);
  if (error.code === 'EAUTH') return new SmtpFailure('login_impossible', command);
  if (error.code === 'ETIMEDOUT') return new SmtpFailure('timed_out', command);
  return new SmtpFailure(error.response || error.code === 'EPROTOCOL' || error.code === 'EMESSAGE' ? 'nonsense' : 'lost', command);
};

/**
 * Runs one step of the library's callback interface to its end: its callback, an error or the end of the connection, or the
 * abort of `signal`, whichever is first. On all but the first the connection is destroyed, after which the library calls nobody.
 */
const step = <T>(connection: SMTPConnection, command: SmtpCommand, signal: AbortSignal, run: (done: Done<T>) => void): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const finish = (failure: SmtpFailure | null, value?: T) => {
      connection.off('error', onError);
      connection.off('end', onEnd);
      signal.removeEventListener('abort', onAbort);
      if (failure) reject(failure);
      else resolve(value);
    };
    const onError = (error: LibraryError) => finish(failureOf(error, command));
    // on a 421 the library ends the connection first and then hands over the reply: let it speak
    const onEnd = () => process.nextTick(() => finish(new SmtpFailure('lost', command)));
    const onAbort = () => {
      finish(new SmtpFailure('timed_out', command));
      connection.close();
    };
    connection.once('error', onError);
    connection.once('end', onEnd);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) return onAbort();
    run((error, value) => finish(error ? failureOf(error, command) : null, value));
  });

/**
 * Connects, greets, upgrades to TLS where offered or demanded, and logs in where credentials are given and the server takes any.
 *
 * @throws SmtpFailure
 */
export const openSession = async (target: SmtpTarget, options: SMTPConnectionOptions, signal: AbortSignal): Promise<SmtpSession> => {
  const connection = new SMTPConnection({ ...options, ...target.options, socketCloseTimeout: 0, logger: false });
  // a connection that breaks while nobody waits for it is found unusable by the next taker
  connection.on('error', () => undefined);
  try {
    await step<undefined>(connection, 'connect', signal, (done) => connection.connect(done));
    const { credentials } = target;
    if (credentials && connection.allowsAuth) {
      await step<boolean>(connection, 'auth', signal, (done) => connection.login({ credentials }, done));
    }
  } catch (failure) {
    connection.close();
    throw failure;
  }
  return sessionOver(connection);
};

const sessionOver = (connection: SMTPConnection): SmtpSession => {
  let usedAt = performance.now();
  let clean = true;
  let carried = 0;
  const isUsable = () => {
    const socket = connection._socket;
    return !connection.destroyed && Boolean(socket) && (socket as Socket).writable && !(socket as Socket).readableEnded;
  };
  return {
    isUsable,
    idleForMs: () => performance.now() - usedAt,
    isClean: () => clean,
    messagesCarried: () => carried,
    deliver: async ({ from, to, envelopeId }, message, { onDot, onDotWritten, signal }) => {
      clean = false;
      carried += 1;
      const whole = Buffer.isBuffer(message);
      // a report then returns the header alone: no text lies about in another mailbox
      const dsn = envelopeId === undefined ? {} : { dsn: { ret: 'HDRS' as const, envid: envelopeId } };
      const envelope = { from, to: [to], size: whole ? message.length : message.size, use8BitMime: whole && !isAscii(message), ...dsn };
      let broken: { by: unknown } | null = null;
      const onBroken = (by: unknown) => {
        broken = { by };
        connection.close();
      };
      const stream = whole ? messageStream(message, onDot) : streamedMessage(message.pieces(), { onEndReleased: onDot, onBroken });
      const socket = connection._socket as Socket | null | false;
      // the library takes its stream off the socket once it has written the dot, and also when the connection breaks
      const onUnpipe = () => {
        if (stream.readableEnded) onDotWritten?.();
      };
      if (socket) socket.once('unpipe', onUnpipe);
      try {
        const info = await step<SMTPConnectionSendInfo>(connection, 'data', signal, (done) => connection.send(envelope, stream, done));
        clean = stream.readableEnded;
        if (!clean) connection.close();
        return info as SMTPConnectionSendInfo;
      } catch (failure) {
        // an early reply may have come while the message was still flowing: what follows would be read as part of it
        if (stream.readableDidRead) connection.close();
        if (broken) throw (broken as { by: unknown }).by;
        throw failure;
      } finally {
        if (socket) socket.off('unpipe', onUnpipe);
        if (!whole) stream.destroy();
        usedAt = performance.now();
      }
    },
    reset: async (signal) => {
      await step<boolean>(connection, 'connect', signal, (done) => connection.reset(done));
      usedAt = performance.now();
      clean = true;
    },
    quit: async (signal) => {
      if (!isUsable()) return connection.close();
      // the reply to QUIT, or a server that just hangs up, both end in `end`
      await step<never>(connection, 'connect', signal, () => connection.quit()).catch(() => undefined);
      connection.close();
    },
    destroy: () => connection.close(),
  };
};
