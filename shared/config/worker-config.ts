import type { Environment } from './environment.ts';
import { readVariables } from './environment.ts';

export interface TransportConfig {
  twilio: { baseUrl: string; accountSid: string; authToken: string };
  smtpUrl: string;
  timeoutMs: number;
}

/** Reads how the providers are reached. @throws ConfigurationError. */
export const readTransportConfig = (env: Environment): TransportConfig => {
  const read = readVariables(env, ['SMS_TRANSPORT', 'EMAIL_TRANSPORT', 'TWILIO_BASE_URL', 'TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN', 'SMTP_URL', 'PROVIDER_TIMEOUT_MS']);
  return {
    twilio: { baseUrl: read.TWILIO_BASE_URL, accountSid: read.TWILIO_ACCOUNT_SID, authToken: read.TWILIO_AUTH_TOKEN },
    smtpUrl: read.SMTP_URL, timeoutMs: read.PROVIDER_TIMEOUT_MS,
  };
};

/** Reads which channel a delivery worker serves, and how many submissions it makes at once. @throws ConfigurationError. */
export const readDeliveryConfig = (env: Environment): { channel: 'sms' | 'email'; concurrency: number } => {
  const read = readVariables(env, ['CHANNEL', 'DELIVERY_CONCURRENCY']);
  return { channel: read.CHANNEL, concurrency: read.DELIVERY_CONCURRENCY };
};

/** Reads how many status reads a coordinator makes at once. @throws ConfigurationError. */
export const readCoordinatorConfig = (env: Environment): { pollConcurrency: number } => ({ pollConcurrency: readVariables(env, ['POLL_CONCURRENCY']).POLL_CONCURRENCY });
