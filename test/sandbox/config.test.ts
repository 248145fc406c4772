import { describe, expect, it } from '@jest/globals';
import { readSandboxConfig } from '../../shared/config/sandbox-config.ts';

describe('the configuration of the sandbox', () => {
  it('needs nothing, and takes empty variables for unset ones', () => {
    expect(readSandboxConfig({ SANDBOX_PORT: '' })).toEqual({
      httpPort: 3002, smtpPort: 2525, originPort: 0, host: '127.0.0.1', receiptLogPath: undefined,
      accountSid: expect.stringMatching(/^AC[0-9a-f]{32}$/), authToken: 'sandbox-token',
      sinchPlanId: 'sandbox-plan', sinchToken: 'sandbox-token', resendApiKey: 're_sandbox', preconditionSecret: expect.stringMatching(/^.{32,}$/),
    });
  });

  it('names every variable at fault without its value', () => {
    const read = () => readSandboxConfig({ SANDBOX_PORT: 'secret-1', TWILIO_ACCOUNT_SID: 'secret-2' });
    expect(read).toThrow(/SANDBOX_PORT.*TWILIO_ACCOUNT_SID/);
    expect(read).not.toThrow(/secret/);
  });
});
