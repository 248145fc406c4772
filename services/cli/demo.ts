import type { CliConfig } from '../../shared/config/cli-config.ts';
import { demoOrder } from './demo-order.ts';
import { demoReport } from './demo-report.ts';
import { demoReset } from './demo-reset.ts';
import { Refusal, UsageError } from './refusal.ts';
import type { SendRequest } from './send-request.ts';

/** A file to be stored before the notification that carries it. */
export interface ReportFile { bytes: Buffer; type: string }
/** A made-up notification with everything that its purpose wants, and what can be done with it (EVENT stands for its id). */
export interface Demo { request: SendRequest; hints?: string; report?: ReportFile }

/** What a demo is made for: the sandbox's outcome (01 … 07), where the sandbox is, the time, and when it expires where somebody said so. */
export interface DemoFor { outcome: string; sandbox: string; now: number; expiresAt: string | undefined }

const DEMOS: Record<string, (how: DemoFor) => Demo | Promise<Demo>> = { 'account-report': demoReport, 'password-reset': demoReset, 'seller-order': demoOrder };

export const DEMO_NAMES = Object.keys(DEMOS);

/** The notification of `send PURPOSE --demo`. @throws UsageError, or Refusal where no standalone with its sandbox runs. */
export const demoOf = async (purpose: string | undefined, how: Omit<DemoFor, 'sandbox'> & { standalone: CliConfig['standalone'] }): Promise<Demo> => {
  const { standalone, ...rest } = how;
  const make = purpose !== undefined && Object.hasOwn(DEMOS, purpose) ? DEMOS[purpose] : undefined;
  if (!make) throw new UsageError(`--demo needs one of these purposes: ${DEMO_NAMES.join(', ')}`, '--demo');
  if (!/^0[1-7]$/.test(rest.outcome)) throw new UsageError('--outcome must be 01 to 07, as the sandbox\'s inbox lists them', '--outcome');
  if (standalone === null) throw new Refusal('the demo needs a running Tocsin with its sandbox', { code: 'no_standalone', cure: 'start it with `npm start`' });
  return make({ ...rest, sandbox: standalone.sandbox });
};
