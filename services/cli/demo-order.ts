import { randomBytes } from 'node:crypto';
import type { Demo, DemoFor } from './demo.ts';
import { Refusal } from './refusal.ts';

const ANSWER_WITHIN_MS = 5_000;
const ACT_WITHIN_MS = 30 * 60_000;

/** Where the sandbox's shop is asked. @throws Refusal where there is no such sandbox. */
const shopUrl = async (sandbox: string): Promise<string> => {
  const { origin } = new URL(sandbox);
  const response = await fetch(`${sandbox}/orders`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).catch(() => {
    throw new Refusal(`nothing answers at ${origin}, where standalone.json says that the sandbox is; nothing was sent`, { code: 'sandbox_away', cure: 'start Tocsin again (npm start); `npx tocsin doctor` tells what runs' });
  });
  const { url } = await response.json().catch(() => ({})) as { url?: unknown };
  if (typeof url === 'string') return url;
  throw new Refusal(`what answers at ${origin} (${response.status}) has no shop that could be asked; nothing was sent`, { code: 'no_sandbox', cure: 'start Tocsin with its sandbox (npm start)' });
};

/** An order that waits for its seller, with the sandbox's shop to ask. @throws Refusal where the sandbox has none. */
export const demoOrder = async ({ outcome, sandbox, now, expiresAt }: DemoFor): Promise<Demo> => {
  const order = `demo-${randomBytes(4).toString('hex')}`;
  const shop = await shopUrl(sandbox);
  return {
    request: {
      path: '/notifications', needsKey: true,
      body: {
        purpose: 'seller-order', ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
        recipient: { ref: `seller-${outcome}`, sms: `+120255501${outcome}`, email: `seller+${outcome}@example.com`, region: 'US', locale: 'en', consent: ['email:contract', 'sms:contract'] },
        variables: { order_id: order, item: 'A brass lamp', act_by: `${new Date(now + ACT_WITHIN_MS).toISOString().slice(11, 16)} UTC`, order_url: `https://shop.example.com/orders/${order}` },
        precondition_url: `${shop}/orders/${order}/needs-action`,
      },
    },
    hints: [
      'the seller accepts:      npx tocsin close EVENT --reason accepted',
      `An email goes out now; ${expiresAt === undefined ? 'after 90 seconds' : 'after 90 seconds at the latest'} the shop is asked, and a text follows if the order still waits.`,
      `the buyer cancels:       curl -s ${sandbox}/orders -H 'Content-Type: application/json' -d '{"order":"${order}","answer":"not_needed"}'`,
      `what the shop was asked: curl -s ${sandbox}/orders`,
    ].join('\n'),
  };
};
