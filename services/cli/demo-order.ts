import { randomBytes } from 'node:crypto';
import type { CliConfig } from '../../shared/config/cli-config.ts';
import type { Input } from './command.ts';
import { Refusal, UsageError } from './refusal.ts';
import type { SendRequest } from './send-request.ts';

/** A made-up order with everything that `seller-order` wants, and what can be done with it. */
export interface DemoOrder { request: SendRequest; hints: string }

const ANSWER_WITHIN_MS = 5_000;
const ACT_WITHIN_MS = 30 * 60_000;

/** Where the sandbox's shop is asked. @throws Refusal where there is no such sandbox. */
const shopUrl = async (sandbox: string): Promise<string> => {
  try {
    const response = await fetch(`${sandbox}/orders`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const { url } = await response.json() as { url?: unknown };
    if (typeof url === 'string') return url;
  } catch {
    // Told below.
  }
  throw new Refusal(`the sandbox at ${new URL(sandbox).origin} has no shop that could be asked`, { code: 'no_sandbox', cure: 'start Tocsin with its sandbox (npm start)' });
};

/** The order of `send --demo seller-order`. @throws UsageError, or Refusal where no standalone with its sandbox runs. */
export const demoOrder = async (input: Input, { standalone }: CliConfig, now: number): Promise<DemoOrder> => {
  if (input.text('demo') !== 'seller-order') throw new UsageError('--demo must be seller-order', '--demo');
  const outcome = input.text('outcome') ?? '01';
  if (!/^0[1-7]$/.test(outcome)) throw new UsageError('--outcome must be 01 to 07, as the sandbox\'s inbox lists them', '--outcome');
  if (standalone === null) throw new Refusal('the demo needs a running Tocsin with its sandbox', { code: 'no_standalone', cure: 'start it with `npm start`' });
  const order = `demo-${randomBytes(4).toString('hex')}`;
  const shop = await shopUrl(standalone.sandbox);
  return {
    request: {
      path: '/notifications', needsKey: true,
      body: {
        purpose: 'seller-order',
        recipient: { ref: `seller-${outcome}`, sms: `+120255501${outcome}`, email: `seller+${outcome}@example.com`, region: 'US', locale: 'en', consent: ['email:contract', 'sms:contract'] },
        variables: { order_id: order, item: 'A brass lamp', act_by: `${new Date(now + ACT_WITHIN_MS).toISOString().slice(11, 16)} UTC`, order_url: `https://shop.example.com/orders/${order}` },
        precondition_url: `${shop}/orders/${order}/needs-action`,
      },
    },
    hints: [
      'An email goes out now; after 90 seconds the shop is asked, and a text follows if the order still waits.',
      `the buyer cancels:       curl -s ${standalone.sandbox}/orders -H 'Content-Type: application/json' -d '{"order":"${order}","answer":"not_needed"}'`,
      `what the shop was asked: curl -s ${standalone.sandbox}/orders`,
    ].join('\n'),
  };
};
