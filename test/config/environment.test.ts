import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, readVariables, VARIABLES } from '../../shared/config/environment.ts';

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

  test.each(['ada@example.com', '+12025550101', '', 'a b', '1234567'])('takes %j for no name of an operator: the ledger would keep it for ever', (name) => {
    expect(() => readVariables({ OPERATOR_USER: name || ' ' }, ['OPERATOR_USER'])).toThrow(/OPERATOR_USER must be a short name/);
  });
});
