import { describe, expect, it } from '@jest/globals';
import { readEngineConfig } from '../../shared/config/engine-config.ts';
import { ConfigurationError } from '../../shared/config/environment.ts';
import { readTransportConfig } from '../../shared/config/worker-config.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';

const BASE = { DATABASE_URL: 'postgres://x', TOCSIN_KEYS: 'k', MAIL_FROM: 'b@example.com' };
const TWILIO = { TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`, TWILIO_AUTH_TOKEN: 't', TWILIO_FROM: '+12025550100' };
const SINCH = { SMS_TRANSPORT: 'sinch', SINCH_PLAN_ID: 'p', SINCH_TOKEN: 't', SINCH_FROM: '+12025550111' };
const SMTP = { SMTP_URL: 'smtp://127.0.0.1:2525' };
const RESEND = { EMAIL_TRANSPORT: 'resend', RESEND_API_KEY: 're_1' };

const opened = async (env: Record<string, string>) => {
  const settings = { ...readTransportConfig(env), now: () => 0 };
  const transports = [openTransport('sms', settings), openTransport('email', settings)];
  await Promise.all(transports.map((transport) => transport.close()));
  return transports.map(({ name, capabilities }) => ({ name, capabilities }));
};

describe('the choice of transports', () => {
  it.each([
    ['twilio and smtp where nothing is chosen', { ...BASE, ...TWILIO, ...SMTP }, '+12025550100'],
    ['sinch and resend', { ...BASE, ...SINCH, ...RESEND }, '+12025550111'],
    ['one of each', { ...BASE, ...TWILIO, ...RESEND }, '+12025550100'],
  ])('%s: what is planned for is what is opened, and only its variables are needed', async (_name, env, smsSender) => {
    const { transports, sender } = readEngineConfig(env);
    const carriers = carriersFor(transports);
    expect(await opened(env)).toEqual([carriers.sms, carriers.email]);
    expect(sender.sms).toBe(smsSender);
  });

  it('names what the chosen one lacks, and a provider that there is not', () => {
    expect(() => readEngineConfig({ ...BASE, ...TWILIO, SMS_TRANSPORT: 'sinch' })).toThrow(/SINCH_FROM is not set/);
    expect(() => readTransportConfig({ ...SMTP, SMS_TRANSPORT: 'sinch' })).toThrow(/SINCH_PLAN_ID is not set; SINCH_TOKEN is not set/);
    expect(() => readTransportConfig({ ...TWILIO, EMAIL_TRANSPORT: 'resend' })).toThrow(/RESEND_API_KEY is not set/);
    expect(() => readTransportConfig({ ...SMTP, SMS_TRANSPORT: 'pigeon' })).toThrow(ConfigurationError);
    expect(() => readTransportConfig({ ...SMTP, SMS_TRANSPORT: 'pigeon' })).toThrow(/SMS_TRANSPORT must be twilio or sinch/);
  });
});
