import type { Environment } from './environment.ts';
import { ConfigurationError, readVariables } from './environment.ts';
import { listOf } from './lists.ts';
import { readPreconditionConfig } from './precondition-config.ts';

export interface IntakeConfig {
  host: string;
  port: number;
  /** Base of links that leave the house; null derives it from the listening address. */
  publicUrl: string | null;
  demo: boolean;
  trustProxy: number;
  ticketsPerMinute: { address: number; player: number };
  /** Where a `precondition_url` may point; absent where none may be given. */
  preconditionOrigins?: readonly string[];
  /** Hosts that links in variables may lead to where a template names none; any where absent or empty. */
  linkHosts?: readonly string[];
  /** Most bytes of one artifact. */
  artifactMaxBytes?: number;
  /** Requests about reports per minute, by client address and by link; the shipped ones where absent. */
  reportsPerMinute?: { address: number; link: number };
  /** Requests to unsubscribe per minute: links that lead nowhere by client address, good ones by link; the shipped ones where absent. */
  unsubscribesPerMinute?: { address: number; link: number };
}

/** Reads the intake's settings. @throws ConfigurationError. */
export const readIntakeConfig = (env: Environment): IntakeConfig => {
  const read = readVariables(env, ['HOST', 'INTAKE_PORT', 'TOCSIN_PUBLIC_URL', 'TOCSIN_DEMO', 'TOCSIN_TRUST_PROXY', 'TICKETS_PER_MINUTE_PER_ADDRESS', 'TICKETS_PER_MINUTE_PER_PLAYER', 'ARTIFACT_MAX_BYTES', 'TOCSIN_LINK_HOSTS']);
  return {
    host: read.HOST, port: read.INTAKE_PORT, publicUrl: read.TOCSIN_PUBLIC_URL ?? null, demo: read.TOCSIN_DEMO, trustProxy: read.TOCSIN_TRUST_PROXY,
    ticketsPerMinute: { address: read.TICKETS_PER_MINUTE_PER_ADDRESS, player: read.TICKETS_PER_MINUTE_PER_PLAYER }, artifactMaxBytes: read.ARTIFACT_MAX_BYTES,
    preconditionOrigins: readPreconditionConfig(env)?.origins ?? [], linkHosts: listOf(read.TOCSIN_LINK_HOSTS),
  };
};

export interface DashboardConfig {
  host: string;
  port: number;
  /** Who is made an administrator where there is no operator yet. */
  operator: { user: string; password: string };
  /** Whether it is reached over https, so that its cookies go nowhere else. */
  secure?: boolean;
  /** Number of proxies whose X-Forwarded-For is believed. */
  trustProxy?: number;
}

/** Reads the dashboard's settings. @throws ConfigurationError where there is no password. */
export const readDashboardConfig = (env: Environment): DashboardConfig => {
  const read = readVariables({ ...env, OPERATOR_PASSWORD: env['OPERATOR_PASSWORD'] ?? '' }, ['HOST', 'DASHBOARD_PORT', 'OPERATOR_USER', 'OPERATOR_PASSWORD', 'TOCSIN_DASHBOARD_URL', 'TOCSIN_TRUST_PROXY']);
  if (read.OPERATOR_PASSWORD === undefined) throw new ConfigurationError('OPERATOR_PASSWORD is not set (see .env.example)');
  return {
    host: read.HOST, port: read.DASHBOARD_PORT, operator: { user: read.OPERATOR_USER, password: read.OPERATOR_PASSWORD },
    secure: read.TOCSIN_DASHBOARD_URL?.startsWith('https:') ?? false, trustProxy: read.TOCSIN_TRUST_PROXY,
  };
};
