import type { CliConfig } from '../../shared/config/cli-config.ts';
import type { Input } from './command.ts';
import { demoOrder } from './demo-order.ts';
import { demoReset } from './demo-reset.ts';
import { Refusal, UsageError } from './refusal.ts';
import type { SendRequest } from './send-request.ts';

/** A made-up notification with everything that its purpose wants, and what can be done with it (EVENT stands for its id). */
export interface Demo { request: SendRequest; hints: string }

/** What a demo is made for: the sandbox's outcome (01 … 07), where the sandbox is, and the time. */
export interface DemoFor { outcome: string; sandbox: string; now: number }

const DEMOS: Record<string, (how: DemoFor) => Demo | Promise<Demo>> = { 'seller-order': demoOrder, 'password-reset': demoReset };

export const DEMO_NAMES = Object.keys(DEMOS);

/** The notification of `send --demo PURPOSE`. @throws UsageError, or Refusal where no standalone with its sandbox runs. */
export const demoOf = async (input: Input, { standalone }: CliConfig, now: number): Promise<Demo> => {
  const name = input.text('demo') ?? '';
  const make = Object.hasOwn(DEMOS, name) ? DEMOS[name] : undefined;
  if (!make) throw new UsageError(`--demo must be one of ${DEMO_NAMES.join(', ')}`, '--demo');
  const outcome = input.text('outcome') ?? '01';
  if (!/^0[1-7]$/.test(outcome)) throw new UsageError('--outcome must be 01 to 07, as the sandbox\'s inbox lists them', '--outcome');
  if (standalone === null) throw new Refusal('the demo needs a running Tocsin with its sandbox', { code: 'no_standalone', cure: 'start it with `npm start`' });
  return make({ outcome, sandbox: standalone.sandbox, now });
};
