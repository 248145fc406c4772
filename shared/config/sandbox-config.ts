import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

const variables = z.object({
  SANDBOX_PORT: port.default(3002),
  SANDBOX_SMTP_PORT: port.default(2525),
  SANDBOX_ORIGIN_PORT: port.default(0),
  SANDBOX_HOST: z.string().min(1).default('127.0.0.1'),
  SANDBOX_LOG: z.string().min(1).optional(),
  TWILIO_ACCOUNT_SID: z.string().regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 hex digits').default('AC5a4db0c05a4db0c05a4db0c05a4db0c0'),
  TWILIO_AUTH_TOKEN: z.string().min(1).default('sandbox-token'),
  SINCH_PLAN_ID: z.string().min(1).default('sandbox-plan'),
  SINCH_TOKEN: z.string().min(1).default('sandbox-token'),
  RESEND_API_KEY: z.string().min(1).default('re_sandbox'),
  // Of a list, the newest one.
  PRECONDITION_SECRET: z.string().min(1).default('sandbox-secret-of-the-shop-and-nobody-else').transform((text) => text.split(',')[0]?.trim() ?? ''),
});

export interface SandboxConfig {
  httpPort: number;
  smtpPort: number;
  /** Of the shop's stand-in, over https. */
  originPort: number;
  host: string;
  /** Where each receipt is written; undefined keeps nothing. */
  receiptLogPath: string | undefined;
  accountSid: string;
  authToken: string;
  sinchPlanId: string;
  sinchToken: string;
  resendApiKey: string;
  preconditionSecret: string;
}

/** The sandbox's settings. An empty variable counts as unset. Throws an error that names every variable at fault, never its value. */
export const readSandboxConfig = (env: NodeJS.ProcessEnv = process.env): SandboxConfig => {
  const read = variables.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  if (!read.success) throw new Error(read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
  const { data } = read;
  return {
    httpPort: data.SANDBOX_PORT, smtpPort: data.SANDBOX_SMTP_PORT, originPort: data.SANDBOX_ORIGIN_PORT, host: data.SANDBOX_HOST, receiptLogPath: data.SANDBOX_LOG,
    accountSid: data.TWILIO_ACCOUNT_SID, authToken: data.TWILIO_AUTH_TOKEN,
    sinchPlanId: data.SINCH_PLAN_ID, sinchToken: data.SINCH_TOKEN, resendApiKey: data.RESEND_API_KEY, preconditionSecret: data.PRECONDITION_SECRET,
  };
};
