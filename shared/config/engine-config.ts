import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from './environment.ts';
import { readTogether, readVariables } from './environment.ts';
import type { PriceList } from './price-config.ts';
import { readPriceList } from './price-config.ts';
import type { PreconditionConfig } from './precondition-config.ts';
import { readPreconditionConfig } from './precondition-config.ts';

/** The adapter that carries each channel. */
export interface TransportNames { sms: 'twilio' | 'sinch'; email: 'smtp' | 'resend'; /** Delivery reports are read, see BOUNCE_MAILDIR. */ mailReports: boolean }

/** What every service that decides or sends needs to know. */
export interface EngineConfig {
  databaseUrl: string;
  poolSize: number;
  redisUrl: string | undefined;
  keys: string;
  logLevel: string;
  policyDir: string;
  templateDir: string;
  sender: { sms: string; email: string };
  transports: TransportNames;
  dashboardUrl: string;
  /** Where the bytes of artifacts lie; every service of a deployment shares it. */
  artifactDir: string;
  submitStartWithinMs: number;
  providerTimeoutMs: number;
  killAt: string | undefined;
  /** Null where no origin system is asked. */
  precondition: PreconditionConfig | null;
  /** For the estimate of costs in the metrics. */
  prices: PriceList;
}

const shipped = (folder: string): string => fileURLToPath(new URL(`../../${folder}`, import.meta.url));

/** Reads which adapters are chosen. @throws ConfigurationError. */
export const readTransportNames = (env: Environment): TransportNames => {
  const read = readVariables(env, ['SMS_TRANSPORT', 'EMAIL_TRANSPORT', 'BOUNCE_MAILDIR']);
  return { sms: read.SMS_TRANSPORT, email: read.EMAIL_TRANSPORT, mailReports: read.EMAIL_TRANSPORT === 'smtp' && read.BOUNCE_MAILDIR !== undefined };
};

/** The chosen SMS provider's sender; another provider's need not be set. */
const readSmsSender = (env: Environment, { sms }: TransportNames): string =>
  (sms === 'sinch' ? readVariables(env, ['SINCH_FROM']).SINCH_FROM : readVariables(env, ['TWILIO_FROM']).TWILIO_FROM);

/** Reads what every service needs. @throws ConfigurationError. */
export const readEngineConfig = (env: Environment): EngineConfig => {
  const { read, transports, smsSender, precondition, prices } = readTogether({
    read: () => readVariables(env, [
      'DATABASE_URL', 'DATABASE_POOL', 'REDIS_URL', 'TOCSIN_KEYS', 'LOG_LEVEL', 'TOCSIN_POLICY_DIR', 'TOCSIN_TEMPLATE_DIR', 'MAIL_FROM',
      'TOCSIN_DASHBOARD_URL', 'HOST', 'DASHBOARD_PORT', 'SUBMIT_START_WITHIN_MS', 'PROVIDER_TIMEOUT_MS', 'TOCSIN_KILL_AT',
      'TOCSIN_DATA_DIR', 'ARTIFACT_DIR',
    ]),
    transports: () => readTransportNames(env), smsSender: () => readSmsSender(env, readTransportNames(env)), precondition: () => readPreconditionConfig(env), prices: () => readPriceList(env),
  });
  return {
    databaseUrl: read.DATABASE_URL, poolSize: read.DATABASE_POOL, redisUrl: read.REDIS_URL, keys: read.TOCSIN_KEYS, logLevel: read.LOG_LEVEL,
    policyDir: read.TOCSIN_POLICY_DIR ?? shipped('policies'), templateDir: read.TOCSIN_TEMPLATE_DIR ?? shipped('templates'),
    sender: { sms: smsSender, email: read.MAIL_FROM }, transports,
    dashboardUrl: read.TOCSIN_DASHBOARD_URL ?? `http://${read.HOST}:${read.DASHBOARD_PORT}`,
    artifactDir: resolve(read.ARTIFACT_DIR ?? join(read.TOCSIN_DATA_DIR, 'artifacts')),
    submitStartWithinMs: read.SUBMIT_START_WITHIN_MS, providerTimeoutMs: read.PROVIDER_TIMEOUT_MS, killAt: read.TOCSIN_KILL_AT,
    precondition, prices,
  };
};

/** The process's own environment; the only place that reads it. */
export const processEnvironment = (): Environment => process.env;
