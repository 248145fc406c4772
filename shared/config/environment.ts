import { isActorName } from './actor-name.ts';
import { z } from 'zod';

const port = z.coerce.number('must be a port number').int('must be a whole number').min(0, 'must be from 0 to 65535').max(65_535, 'must be from 0 to 65535');
const whole = (least: number) => z.coerce.number('must be a number').int('must be a whole number').min(least, `must be at least ${least}`);
const flag = z.enum(['0', '1', 'true', 'false', 'yes', 'no']).transform((text) => ['1', 'true', 'yes'].includes(text));

/** Every environment variable of the product, once. Each service picks its keys. `.env.example` lists the same names. */
export const VARIABLES = {
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL'),
  MIGRATE_DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL').optional(),
  REDIS_URL: z.string().regex(/^rediss?(\+cluster)?:\/\//, 'must be a redis:// or redis+cluster:// URL').optional(),
  DATABASE_POOL: whole(2).default(6),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  TOCSIN_DATA_DIR: z.string().min(1).default('.tocsin'),
  ARTIFACT_DIR: z.string().min(1).optional(),
  ARTIFACT_MAX_BYTES: whole(1).default(25_000_000),
  CHECKPOINT_FILE: z.string().min(1).optional(),
  ERASURE_FILE: z.string().min(1).optional(),
  TOCSIN_POLICY_DIR: z.string().min(1).optional(),
  TOCSIN_TEMPLATE_DIR: z.string().min(1).optional(),
  TOCSIN_KEYS: z.string().min(1),
  TOCSIN_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  TOCSIN_API_KEY: z.string().min(1).optional(),
  TOCSIN_DEMO: flag.default(false),
  TOCSIN_PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  TOCSIN_DASHBOARD_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  TOCSIN_LINK_HOSTS: z.string().regex(/^[\sa-z0-9.,:-]*$/, 'must be host names with commas between, such as www.example.com,shop.example.com').optional(),
  TOCSIN_TRUST_PROXY: whole(0).default(0),
  TOCSIN_KILL_AT: z.string().min(1).optional(),
  HOST: z.string().min(1).default('127.0.0.1'),
  INTAKE_PORT: port.default(3000),
  DASHBOARD_PORT: port.default(3001),
  METRICS_PORT: port.default(0),
  OPERATOR_USER: z.string().refine(isActorName, 'must be a short name of letters, at most six digits, . _ : or -, since the ledger keeps it for ever').default('operator'),
  OPERATOR_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  TICKETS_PER_MINUTE_PER_ADDRESS: whole(1).default(600),
  TICKETS_PER_MINUTE_PER_PLAYER: whole(1).default(30),
  CHANNEL: z.enum(['sms', 'email'], { error: 'must be sms or email' }),
  DELIVERY_CONCURRENCY: whole(1).default(32),
  POLL_CONCURRENCY: whole(1).default(32),
  // Resend answers five requests a second to a team, submissions included (source: its API reference, Usage limits); for the others none is published.
  TWILIO_POLLS_PER_SECOND: whole(1).default(100),
  SINCH_POLLS_PER_SECOND: whole(1).default(50),
  RESEND_POLLS_PER_SECOND: whole(1).default(2),
  INBOUND_POLL_SECONDS: whole(1).default(15),
  SMS_TRANSPORT: z.enum(['twilio', 'sinch'], { error: 'must be twilio or sinch' }).default('twilio'),
  EMAIL_TRANSPORT: z.enum(['smtp', 'resend'], { error: 'must be smtp or resend' }).default('smtp'),
  TWILIO_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).default('https://api.twilio.com'),
  TWILIO_ACCOUNT_SID: z.string().regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 hex digits'),
  TWILIO_AUTH_TOKEN: z.string().min(1),
  TWILIO_FROM: z.string().min(1),
  SINCH_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).default('https://us.sms.api.sinch.com'),
  SINCH_PLAN_ID: z.string().min(1),
  SINCH_TOKEN: z.string().min(1),
  SINCH_FROM: z.string().min(1),
  SMTP_URL: z.string().regex(/^smtps?:\/\//, 'must be an smtp:// or smtps:// URL'),
  RESEND_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).default('https://api.resend.com'),
  RESEND_API_KEY: z.string().min(1),
  BOUNCE_MAILDIR: z.string().min(1).optional(),
  MAIL_FROM: z.string().regex(/@/, 'must be an address'),
  PROVIDER_TIMEOUT_MS: whole(500).default(10_000),
  SUBMIT_START_WITHIN_MS: whole(100).default(2_000),
  ALERTMANAGER_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  ALERT_WEBHOOK_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  ALERT_WEBHOOK_SECRET: z.string().min(1).optional(),
  ALERT_HEARTBEAT_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  ALERT_RUNBOOK_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  PRICE_LIST: z.string().min(1).optional(),
  PRECONDITION_ORIGINS: z.string().min(1).optional(),
  PRECONDITION_SECRET: z.string().min(1).optional(),
  PRECONDITION_CA: z.string().min(1).optional(),
  PRECONDITION_LOOPBACK: flag.default(false),
} as const;

export type VariableName = keyof typeof VARIABLES;
export type Environment = Record<string, string | undefined>;
type Values<Name extends VariableName> = { [Key in Name]: z.output<(typeof VARIABLES)[Key]> };

const SEE = ' (see .env.example)';

/** Variables that are missing or malformed, each with what it must be; never with its value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** Reads the named variables; an empty one counts as unset. @throws ConfigurationError naming every variable at fault. */
export const readVariables = <Name extends VariableName>(env: Environment, names: readonly Name[]): Values<Name> => {
  const shape = Object.fromEntries(names.map((name) => [name, VARIABLES[name]]));
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const read = z.object(shape).safeParse(given);
  if (read.success) return read.data as unknown as Values<Name>;
  const lines = read.error.issues.map((issue) => {
    const name = issue.path.join('.');
    return given[name] === undefined ? `${name} is not set` : `${name} ${issue.message}`;
  });
  throw new ConfigurationError(`${lines.join('; ')}${SEE}`);
};

/** Reads several groups of settings, and names what is at fault in all of them: a service that names one at each start is started five times. @throws ConfigurationError. */
export const readTogether = <Groups extends Record<string, () => unknown>>(groups: Groups): { [Name in keyof Groups]: ReturnType<Groups[Name]> } => {
  const faults = new Set<string>();
  const read = Object.entries(groups).map(([name, group]): [string, unknown] => {
    try {
      return [name, group()];
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      for (const fault of error.message.replace(SEE, '').split('; ')) faults.add(fault);
      return [name, undefined];
    }
  });
  if (faults.size > 0) throw new ConfigurationError(`${[...faults].join('; ')}${SEE}`);
  return Object.fromEntries(read) as { [Name in keyof Groups]: ReturnType<Groups[Name]> };
};
