import { PROVIDERS } from '../carriers.ts';
import { createInFlight } from '../in-flight.ts';
import type { Transport } from '../transport.ts';
import { createSmtpPool } from './pool.ts';
import { openSession } from './session.ts';
import { submit } from './submit.ts';
import { readSmtpUrl } from './url.ts';

export interface SmtpSettings {
  /** SMTP_URL, see `readSmtpUrl`. */
  url: string;
  /** Limit of each submission as a whole: waiting for a connection, connecting, logging in and the transaction. */
  timeoutMs: number;
  maxConnections: number;
  /** The name given in EHLO; the machine's own where absent. */
  name?: string;
}

/** An idle connection is dropped after this long. */
const IDLE_MS = 30_000;
/** A connection given out again proves within this time that it stands, or is replaced. */
const CHECK_WITHIN_MS = 2_000;
const MAX_REPLY_BYTES = 64 * 1024;

/**
 * Email through an SMTP server. Its acceptance after the final dot is all the evidence there is: no status can be read, and a
 * message whose answer is lost after the dot stays unknown.
 *
 * `mayStart` is asked right before MAIL FROM is written to a greeted and logged-in connection; the message's own bytes leave
 * only after the server's 354.
 */
export const createSmtpTransport = ({ url, timeoutMs, maxConnections, name }: SmtpSettings): Transport => {
  const target = readSmtpUrl(url);
  const options = {
    ...(name === undefined ? {} : { name }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    // also runs during a submission, whose own limit must come first
    socketTimeout: Math.max(IDLE_MS, timeoutMs * 2),
    maxResponseSize: MAX_REPLY_BYTES,
  };
  const pool = createSmtpPool({
    maxConnections,
    open: (signal) => openSession(target, options, signal),
    checkWithinMs: Math.min(CHECK_WITHIN_MS, timeoutMs / 4),
  });
  const inFlight = createInFlight();
  return {
    ...PROVIDERS.smtp,
    channel: 'email',
    submit: (request) => inFlight.track(submit(pool, request, timeoutMs)),
    close: async () => {
      const drained = inFlight.drained();
      await pool.close();
      await drained;
    },
  };
};
