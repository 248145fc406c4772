import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Environment } from './environment.ts';
import { ConfigurationError, readVariables } from './environment.ts';

const standaloneFile = z.object({
  intake: z.string(), dashboard: z.string(), sandbox: z.string(), smtp: z.string(), database: z.string(), queue: z.string(), api_key: z.string(),
  operator: z.object({ user: z.string(), password: z.string() }),
});

/** Where a running standalone can be reached, as it says so itself in `standalone.json`. */
export type StandaloneFile = z.output<typeof standaloneFile>;

/** What the command line knows of its surroundings before a command asks for more. */
export interface CliConfig {
  dataDir: string;
  /** Null where no standalone says that it is running. */
  standalone: StandaloneFile | null;
  redisUrl: string | undefined;
  policyDir: string;
  templateDir: string;
  killAt: string | undefined;
}

const textOf = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ConfigurationError(`${path} cannot be read (${code ?? 'unknown'}): run this as the user who started Tocsin`);
  }
};

/** Reads `$TOCSIN_DATA_DIR/standalone.json`; null where it is not there. @throws ConfigurationError where it is something else. */
export const readStandaloneFile = (dataDir: string): StandaloneFile | null => {
  const path = join(dataDir, 'standalone.json');
  const text = textOf(path);
  if (text === null) return null;
  try {
    return standaloneFile.parse(JSON.parse(text));
  } catch {
    throw new ConfigurationError(`${path} is not what a standalone writes: stop it, remove the file and start it again`);
  }
};

const shipped = (folder: string): string => fileURLToPath(new URL(`../../${folder}`, import.meta.url));

/** Reads what every command may need. @throws ConfigurationError. */
export const readCliConfig = (env: Environment): CliConfig => {
  const read = readVariables(env, ['TOCSIN_DATA_DIR', 'REDIS_URL', 'TOCSIN_POLICY_DIR', 'TOCSIN_TEMPLATE_DIR', 'TOCSIN_KILL_AT']);
  return {
    dataDir: read.TOCSIN_DATA_DIR, standalone: readStandaloneFile(read.TOCSIN_DATA_DIR), redisUrl: read.REDIS_URL,
    policyDir: read.TOCSIN_POLICY_DIR ?? shipped('policies'), templateDir: read.TOCSIN_TEMPLATE_DIR ?? shipped('templates'), killAt: read.TOCSIN_KILL_AT,
  };
};

/** Sender of the standalone, where its environment names none. */
export const DEMO_SENDER = { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' } as const;

/** The senders of the deployment, as far as they are known here: by the variables of its services, else those of the running standalone. */
export const readSender = (env: Environment, { standalone }: CliConfig): { sms: string | null; email: string | null } => {
  const demo = standalone === null ? null : DEMO_SENDER;
  const sms = env['SMS_TRANSPORT'] === 'sinch' ? 'SINCH_FROM' : 'TWILIO_FROM';
  return { sms: isSet(env, sms) ? env[sms] as string : demo?.sms ?? null, email: isSet(env, 'MAIL_FROM') ? env['MAIL_FROM'] as string : demo?.email ?? null };
};

const isSet = (env: Environment, name: string): boolean => (env[name] ?? '') !== '';

/** The database the services use: `DATABASE_URL`, else that of the running standalone. @throws ConfigurationError where neither is known. */
export const readDatabaseUrl = (env: Environment, { standalone, dataDir }: CliConfig): string => {
  if (isSet(env, 'DATABASE_URL')) return readVariables(env, ['DATABASE_URL']).DATABASE_URL;
  if (standalone) return standalone.database;
  throw new ConfigurationError(`no database is known: set DATABASE_URL, or start Tocsin (npm start), which writes ${join(dataDir, 'standalone.json')}`);
};

/** The owner's database, for migrations: `MIGRATE_DATABASE_URL`, else as the services. @throws ConfigurationError. */
export const readOwnerUrl = (env: Environment, config: CliConfig): string =>
  readVariables(env, ['MIGRATE_DATABASE_URL']).MIGRATE_DATABASE_URL ?? readDatabaseUrl(env, config);

/** Text of the key ring: `TOCSIN_KEYS`, else the data directory's `keys`. @throws ConfigurationError where neither is there. */
export const readKeysText = (env: Environment, { dataDir }: CliConfig): string => {
  const text = isSet(env, 'TOCSIN_KEYS') ? readVariables(env, ['TOCSIN_KEYS']).TOCSIN_KEYS : textOf(join(dataDir, 'keys'));
  if (text !== null && text.trim() !== '') return text.trim();
  throw new ConfigurationError(`no keys are known: set TOCSIN_KEYS to what the services use, or point TOCSIN_DATA_DIR at the data directory that holds the file keys (now ${dataDir})`);
};

/** Where `send` posts to, and with which key: options first, then the environment, then the running standalone. */
export const readIntakeAccess = (env: Environment, { standalone, dataDir }: CliConfig, given: { url?: string | undefined; apiKey?: string | undefined }): { url: string; apiKey: string | null } => {
  const asked = Object.fromEntries(Object.entries({ TOCSIN_URL: given.url, TOCSIN_API_KEY: given.apiKey }).filter(([, value]) => value !== undefined));
  const read = readVariables({ ...env, ...asked }, ['TOCSIN_URL', 'TOCSIN_API_KEY']);
  const url = read.TOCSIN_URL ?? standalone?.intake;
  if (url === undefined) throw new ConfigurationError(`no intake is known: give --url or TOCSIN_URL, or start Tocsin (npm start), which writes ${join(dataDir, 'standalone.json')}`);
  // The standalone's key must not go to another host.
  const own = standalone !== null && new URL(standalone.intake).origin === new URL(url).origin ? standalone.api_key : null;
  return { url: url.replace(/\/+$/, ''), apiKey: read.TOCSIN_API_KEY ?? own };
};
