import { purposeOf } from './clocks.ts';
import type { ClockSet } from './clocks.ts';

/** What becomes of the SMS of workflow number `index`: 70 % delivered, 20 % undelivered, 10 % never confirmed. */
export const fateOf = (index: number): 'delivered' | 'undelivered' | 'never' => {
  const digit = index % 10;
  return digit === 3 ? 'never' : digit === 0 || digit === 6 ? 'undelivered' : 'delivered';
};
const ENDING = { delivered: '01', undelivered: '02', never: '03' } as const;

/** The body of one request; the same for the product and for the baseline. */
export const bodyOf = (index: number, clocks: ClockSet): string => JSON.stringify({
  purpose: purposeOf(clocks),
  recipient: {
    ref: `oncall-${index % 97}`, sms: `+120255501${ENDING[fateOf(index)]}`, email: `oncall${index % 97}@example.com`, region: 'US', locale: 'en',
    consent: ['sms:consent', 'email:consent'],
  },
  variables: {
    category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en-US', player_ref: `player-${index}`, received_at: '2026-01-01T00:00:00Z',
    message: `I paid for the season pass and now the shop says that my account is locked. Order ${index}. Please help, the event ends tonight.`,
    ticket_url: `http://127.0.0.1:3001/tickets/${index}`,
  },
});
