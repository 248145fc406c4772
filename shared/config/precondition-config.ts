import { readFileSync } from 'node:fs';
import type { Environment } from './environment.ts';
import { ConfigurationError, readVariables } from './environment.ts';
import { listOf, signingSecretsOf } from './lists.ts';

/** Which origin systems may be asked whether a notice is still needed, and how the questions are signed. */
export interface PreconditionConfig {
  /** As `URL.origin` writes them. */
  origins: readonly string[];
  /** The first one is the newest; a question carries a signature under each. */
  secrets: readonly string[];
  /** PEM of an authority that is believed beside the usual ones. */
  ca: string | null;
  /** Sandbox and tests only. */
  allowLoopback: boolean;
}

const SHAPE = 'must be an https origin without a path, such as https://shop.example.com';

/** Whether a host name or address is this machine's own. */
export const isLoopbackHost = (host: string): boolean => /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host);

const urlOf = (text: string): URL | null => {
  try {
    return new URL(text);
  } catch {
    return null;
  }
};

const originOf = (text: string, place: number, allowLoopback: boolean): string => {
  const url = urlOf(text);
  if (url === null || url.protocol !== 'https:' || (url.origin !== text && `${url.origin}/` !== text)) throw new ConfigurationError(`PRECONDITION_ORIGINS entry ${place} ${SHAPE} (see .env.example)`);
  if (isLoopbackHost(url.hostname) && !allowLoopback) throw new ConfigurationError(`PRECONDITION_ORIGINS entry ${place} is this machine: name a public host, or set PRECONDITION_LOOPBACK=1 in a sandbox (see .env.example)`);
  return url.origin;
};

const caOf = (path: string | undefined): string | null => {
  if (path === undefined) return null;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError(`PRECONDITION_CA cannot be read (${String((error as NodeJS.ErrnoException).code)}): it must be the path of a PEM file`);
  }
};

/** A message that goes to a real provider must never depend on a stand-in. */
const refuseBesideRealProviders = (env: Environment): void => {
  const { SMS_TRANSPORT: sms, EMAIL_TRANSPORT: email } = readVariables(env, ['SMS_TRANSPORT', 'EMAIL_TRANSPORT']);
  const names = [sms === 'sinch' ? 'SINCH_BASE_URL' : 'TWILIO_BASE_URL', email === 'resend' ? 'RESEND_BASE_URL' : 'SMTP_URL'] as const;
  const real = names.find((name) => !isLoopbackHost(urlOf(env[name] ?? '')?.hostname ?? ''));
  if (real !== undefined) throw new ConfigurationError(`PRECONDITION_LOOPBACK is for the sandbox only, and ${real} is not on this machine: unset PRECONDITION_LOOPBACK`);
};

/** Reads who may be asked; null where PRECONDITION_ORIGINS names nobody. @throws ConfigurationError naming entries by their place, never a secret. */
export const readPreconditionConfig = (env: Environment): PreconditionConfig | null => {
  const read = readVariables(env, ['PRECONDITION_ORIGINS', 'PRECONDITION_SECRET', 'PRECONDITION_CA', 'PRECONDITION_LOOPBACK']);
  const origins = listOf(read.PRECONDITION_ORIGINS);
  if (origins.length === 0) return null;
  if (read.PRECONDITION_LOOPBACK) refuseBesideRealProviders(env);
  return {
    origins: origins.map((text, index) => originOf(text, index + 1, read.PRECONDITION_LOOPBACK)), secrets: signingSecretsOf(read, 'PRECONDITION_SECRET', 'PRECONDITION_ORIGINS is: questions to an origin system are signed'),
    ca: caOf(read.PRECONDITION_CA), allowLoopback: read.PRECONDITION_LOOPBACK,
  };
};
