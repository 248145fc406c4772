import type { Environment } from './environment.ts';
import { ConfigurationError, readVariables } from './environment.ts';
import { signingSecretsOf } from './lists.ts';

/** Whom the coordinators tell. */
export interface AlertConfig {
  alertmanagerUrl: string | null;
  webhook: { url: string; secrets: readonly string[] } | null;
  heartbeatUrl: string | null;
  /** Base of the runbooks, without a slash at its end; null where they are not served. */
  runbookUrl: string | null;
}

/** A name and password in an address would stand in logs and errors, and no call could be made with it. */
const refuseCredentials = (name: string, text: string | undefined): string | null => {
  if (text === undefined) return null;
  const { username, password } = new URL(text);
  if (username !== '' || password !== '') throw new ConfigurationError(`${name} must hold no name and password: let a proxy add them (see .env.example)`);
  return text;
};

/** Reads whom the coordinators tell; each may be left out. @throws ConfigurationError, never with a secret. */
export const readAlertConfig = (env: Environment): AlertConfig => {
  const read = readVariables(env, ['ALERTMANAGER_URL', 'ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET', 'ALERT_HEARTBEAT_URL', 'ALERT_RUNBOOK_URL']);
  const webhookUrl = refuseCredentials('ALERT_WEBHOOK_URL', read.ALERT_WEBHOOK_URL);
  return {
    alertmanagerUrl: refuseCredentials('ALERTMANAGER_URL', read.ALERTMANAGER_URL), webhook: webhookUrl === null ? null : { url: webhookUrl, secrets: signingSecretsOf(read, 'ALERT_WEBHOOK_SECRET', 'ALERT_WEBHOOK_URL is: alerts are signed') },
    heartbeatUrl: refuseCredentials('ALERT_HEARTBEAT_URL', read.ALERT_HEARTBEAT_URL), runbookUrl: read.ALERT_RUNBOOK_URL?.replace(/\/+$/, '') ?? null,
  };
};
