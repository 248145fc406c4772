import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { readEngineConfig } from '../../shared/config/engine-config.ts';
import { ConfigurationError, readTogether, readVariables, VARIABLES } from '../../shared/config/environment.ts';
import { readDashboardConfig } from '../../shared/config/intake-config.ts';
import { readTransportConfig } from '../../shared/config/worker-config.ts';

describe('the environment', () => {
  test('.env.example lists every variable, and no other', async () => {
    const text = await readFile(new URL('../../.env.example', import.meta.url), 'utf8');
    const listed = [...text.matchAll(/^([A-Z_]+)=/gm)].map((match) => match[1]).filter((name) => !/^SANDBOX_/.test(name as string));
    expect(listed.sort()).toEqual(Object.keys(VARIABLES).sort());
  });

  test('names every variable at fault at once, and never its value', () => {
    const read = () => readVariables({ DATABASE_URL: 'mysql://secret', CHANNEL: 'fax', INTAKE_PORT: '99999', TOCSIN_KEYS: '' }, ['DATABASE_URL', 'CHANNEL', 'INTAKE_PORT', 'TOCSIN_KEYS']);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(/DATABASE_URL must be a postgres:\/\/ URL.*CHANNEL must be sms or email.*INTAKE_PORT.*TOCSIN_KEYS is not set/s);
    expect(read).not.toThrow(/secret/);
  });

  test('names what each of its groups lacks at once: a service is started once to know it', () => {
    const lacking = { DATABASE_URL: 'postgres://x', TOCSIN_KEYS: 'k0:x', PRICE_LIST: 'sms' };
    expect(() => readEngineConfig(lacking)).toThrow('MAIL_FROM is not set; TWILIO_FROM is not set; PRICE_LIST entry "sms" must be sms, email, poll or gb_month, = and a number such as 0.08 (see .env.example)');
    const read = () => readTogether({ engine: () => readEngineConfig(lacking), transports: () => readTransportConfig(lacking), dashboard: () => readDashboardConfig(lacking) });
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(/^MAIL_FROM is not set; TWILIO_FROM is not set; .*; TWILIO_ACCOUNT_SID is not set; TWILIO_AUTH_TOKEN is not set; SMTP_URL is not set; OPERATOR_PASSWORD is not set \(see \.env\.example\)$/);
    expect(readTogether({ one: () => 1, two: () => 'two' })).toEqual({ one: 1, two: 'two' });
    expect(() => readTogether({ one: () => { throw new TypeError('a mistake of ours'); } })).toThrow(TypeError);
  });

  test.each(['ada@example.com', '+12025550101', '', 'a b', '1234567'])('takes %j for no name of an operator: the ledger would keep it for ever', (name) => {
    expect(() => readVariables({ OPERATOR_USER: name || ' ' }, ['OPERATOR_USER'])).toThrow(/OPERATOR_USER must be a short name/);
  });
});
