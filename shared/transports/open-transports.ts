import type { Channel } from '../domain/words.ts';
import type { Transport } from './transport.ts';
import { createSmtpTransport } from './smtp/client.ts';
import { createTwilioTransport } from './twilio/client.ts';

export interface TransportSettings {
  twilio: { baseUrl: string; accountSid: string; authToken: string };
  smtpUrl: string;
  /** Most milliseconds of one call. */
  timeoutMs: number;
  /** Now, for HTTP dates in Retry-After. */
  now: () => number;
}

const MAX_CONNECTIONS: Record<Channel, number> = { sms: 64, email: 16 };

/** Opens the configured transport of a channel; connects at its first call. */
export const openTransport = (channel: Channel, settings: TransportSettings): Transport => (channel === 'sms'
  ? createTwilioTransport({ ...settings.twilio, timeoutMs: settings.timeoutMs, maxSockets: MAX_CONNECTIONS.sms, now: settings.now })
  : createSmtpTransport({ url: settings.smtpUrl, timeoutMs: settings.timeoutMs, maxConnections: MAX_CONNECTIONS.email }));
