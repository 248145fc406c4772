import type { Environment } from './environment.ts';
import { readVariables } from './environment.ts';

/** Where a service without an HTTP server of its own shows its health and its metrics; null shows them nowhere. @throws ConfigurationError. */
export const readMetricsConfig = (env: Environment): { host: string; port: number } | null => {
  const { HOST: host, METRICS_PORT: port } = readVariables(env, ['HOST', 'METRICS_PORT']);
  return port === 0 ? null : { host, port };
};
