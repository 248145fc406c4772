import { ConfigurationError } from './environment.ts';

/** The entries of a list with commas, without the empty ones. */
export const listOf = (text: string | undefined): string[] => (text ?? '').split(',').map((one) => one.trim()).filter((one) => one !== '');

const LEAST_SECRET = 32;

/** The secrets of a variable, the newest first; `because`: what makes them necessary. @throws ConfigurationError, never with a secret. */
export const signingSecretsOf = <Name extends string>(read: Readonly<Partial<Record<Name, string>>>, name: Name, because: string): string[] => {
  const secrets = listOf(read[name]);
  if (secrets.length === 0) throw new ConfigurationError(`${name} is not set, and ${because} (see .env.example)`);
  const short = secrets.findIndex((secret) => secret.length < LEAST_SECRET);
  if (short !== -1) throw new ConfigurationError(`${name} entry ${short + 1} must have at least ${LEAST_SECRET} characters`);
  return secrets;
};
