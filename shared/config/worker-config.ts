import type { Environment } from './environment.ts';
import { readTogether, readVariables } from './environment.ts';
import { readTransportNames } from './engine-config.ts';

/** How the chosen provider of SMS is reached. */
export type SmsConfig =
  | { name: 'twilio'; baseUrl: string; accountSid: string; authToken: string }
  | { name: 'sinch'; baseUrl: string; planId: string; token: string };

/** How the chosen provider of email is reached. */
export type EmailConfig =
  | { name: 'smtp'; url: string }
  | { name: 'resend'; baseUrl: string; token: string };

export interface TransportConfig { sms: SmsConfig; email: EmailConfig; timeoutMs: number }

const readSmsConfig = (env: Environment): SmsConfig => {
  if (readTransportNames(env).sms === 'sinch') {
    const read = readVariables(env, ['SINCH_BASE_URL', 'SINCH_PLAN_ID', 'SINCH_TOKEN']);
    return { name: 'sinch', baseUrl: read.SINCH_BASE_URL, planId: read.SINCH_PLAN_ID, token: read.SINCH_TOKEN };
  }
  const read = readVariables(env, ['TWILIO_BASE_URL', 'TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN']);
  return { name: 'twilio', baseUrl: read.TWILIO_BASE_URL, accountSid: read.TWILIO_ACCOUNT_SID, authToken: read.TWILIO_AUTH_TOKEN };
};

const readEmailConfig = (env: Environment): EmailConfig => {
  if (readTransportNames(env).email === 'smtp') return { name: 'smtp', url: readVariables(env, ['SMTP_URL']).SMTP_URL };
  const read = readVariables(env, ['RESEND_BASE_URL', 'RESEND_API_KEY']);
  return { name: 'resend', baseUrl: read.RESEND_BASE_URL, token: read.RESEND_API_KEY };
};

/** Reads how the chosen providers are reached. @throws ConfigurationError. */
export const readTransportConfig = (env: Environment): TransportConfig => readTogether({
  sms: () => readSmsConfig(env), email: () => readEmailConfig(env), timeoutMs: () => readVariables(env, ['PROVIDER_TIMEOUT_MS']).PROVIDER_TIMEOUT_MS,
});

/** Reads which channel a delivery worker serves, and how many submissions it makes at once. @throws ConfigurationError. */
export const readDeliveryConfig = (env: Environment): { channel: 'sms' | 'email'; concurrency: number } => {
  const read = readVariables(env, ['CHANNEL', 'DELIVERY_CONCURRENCY']);
  return { channel: read.CHANNEL, concurrency: read.DELIVERY_CONCURRENCY };
};

export interface CoordinatorConfig {
  /** Status reads at once. */
  pollConcurrency: number;
  /** Most status reads of each provider in any second, all coordinators together. */
  pollsPerSecond: { twilio: number; sinch: number; resend: number };
  /** The Maildir that delivery reports come to; undefined where none is read. */
  bounceMaildir: string | undefined;
  /** How often it is read what recipients text back, all coordinators together. */
  inboundEveryMs: number;
}

/** Reads how many status reads a coordinator makes, at once and in a second, where delivery reports come to, and how often it looks for what recipients text back. @throws ConfigurationError. */
export const readCoordinatorConfig = (env: Environment): CoordinatorConfig => {
  const read = readVariables(env, ['POLL_CONCURRENCY', 'TWILIO_POLLS_PER_SECOND', 'SINCH_POLLS_PER_SECOND', 'RESEND_POLLS_PER_SECOND', 'BOUNCE_MAILDIR', 'INBOUND_POLL_SECONDS']);
  return {
    pollConcurrency: read.POLL_CONCURRENCY,
    pollsPerSecond: { twilio: read.TWILIO_POLLS_PER_SECOND, sinch: read.SINCH_POLLS_PER_SECOND, resend: read.RESEND_POLLS_PER_SECOND },
    bounceMaildir: readTransportNames(env).mailReports ? read.BOUNCE_MAILDIR : undefined,
    inboundEveryMs: read.INBOUND_POLL_SECONDS * 1_000,
  };
};
