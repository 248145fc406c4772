import type { Channel } from '../domain/words.ts';
import { createResendTransport } from './resend/client.ts';
import { createSinchTransport } from './sinch/client.ts';
import { createSmtpTransport } from './smtp/client.ts';
import type { Transport } from './transport.ts';
import { createTwilioTransport } from './twilio/client.ts';

export interface TransportSettings {
  /** The chosen provider of each channel and how it is reached. */
  sms: { name: 'twilio'; baseUrl: string; accountSid: string; authToken: string } | { name: 'sinch'; baseUrl: string; planId: string; token: string };
  email: { name: 'smtp'; url: string } | { name: 'resend'; baseUrl: string; token: string };
  /** Most milliseconds of one call. */
  timeoutMs: number;
  /** Now, for HTTP dates in Retry-After. */
  now: () => number;
}

/** Most connections of one channel. */
export const MAX_CONNECTIONS: Record<Channel, number> = { sms: 64, email: 16 };

const openSms = ({ sms, timeoutMs, now }: TransportSettings, maxSockets: number): Transport => {
  const common = { timeoutMs, now, maxSockets };
  return sms.name === 'sinch' ? createSinchTransport({ ...sms, ...common }) : createTwilioTransport({ ...sms, ...common });
};

const openEmail = ({ email, timeoutMs, now }: TransportSettings, maxConnections: number): Transport => (email.name === 'resend'
  ? createResendTransport({ ...email, timeoutMs, now, maxSockets: maxConnections })
  : createSmtpTransport({ url: email.url, timeoutMs, maxConnections }));

/** Opens the configured transport of a channel; connects at its first call. */
export const openTransport = (channel: Channel, settings: TransportSettings, maxConnections = MAX_CONNECTIONS[channel]): Transport =>
  (channel === 'sms' ? openSms(settings, maxConnections) : openEmail(settings, maxConnections));
