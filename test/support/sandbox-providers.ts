import { startSandbox } from '../../services/sandbox/sandbox.ts';
import type { RunningSandbox, SandboxSettings } from '../../services/sandbox/sandbox.ts';
import type { TransportChoice } from '../../shared/transports/carriers.ts';
import type { TransportSettings } from '../../shared/transports/open-transports.ts';

/** What the sandbox of a test expects of its clients. */
export const SANDBOX_ACCOUNT = { accountSid: `AC${'0'.repeat(32)}`, authToken: 'token', sinchPlanId: 'plan-1', sinchToken: 'sinch-token', resendApiKey: 're_test' };

/** How the chosen transports reach the sandbox's stand-ins. */
export const sandboxProviders = (sandbox: RunningSandbox, choice: TransportChoice, account = SANDBOX_ACCOUNT): Pick<TransportSettings, 'sms' | 'email'> => {
  const { accountSid, authToken, sinchPlanId, sinchToken, resendApiKey } = account;
  return {
    sms: choice.sms === 'twilio'
      ? { name: 'twilio', baseUrl: sandbox.httpUrl, accountSid, authToken }
      : { name: 'sinch', baseUrl: sandbox.httpUrl, planId: sinchPlanId, token: sinchToken },
    email: choice.email === 'smtp' ? { name: 'smtp', url: sandbox.smtpUrl } : { name: 'resend', baseUrl: sandbox.httpUrl, token: resendApiKey },
  };
};

/** A sandbox that expects `SANDBOX_ACCOUNT`, on free ports. */
export const startSandboxFor = (settings: Partial<SandboxSettings> = {}): Promise<RunningSandbox> =>
  startSandbox({ httpPort: 0, smtpPort: 0, ...SANDBOX_ACCOUNT, ...settings });
