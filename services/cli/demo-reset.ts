import { randomBytes, randomInt } from 'node:crypto';
import type { Demo, DemoFor } from './demo.ts';

const EXPIRES_AFTER_MS = 10 * 60_000;

/** Somebody wants a new password: the email with that outcome, and a text where the policy has it follow. */
export const demoReset = ({ outcome, now, expiresAt = new Date(now + EXPIRES_AFTER_MS).toISOString() }: DemoFor): Demo => ({
  request: {
    path: '/notifications', needsKey: true,
    body: {
      purpose: 'password-reset', expires_at: expiresAt,
      recipient: { ref: `player-${outcome}`, sms: '+12025550101', email: `player+${outcome}@example.com`, region: 'US', locale: 'en', consent: ['email:contract', 'sms:contract'] },
      variables: {
        service: 'Harbour', host: 'accounts.example.com', valid_until: `${expiresAt.slice(11, 16)} UTC`,
        reset_url: `https://accounts.example.com/reset/${randomBytes(16).toString('hex')}`, reset_code: String(randomInt(100_000, 1_000_000)),
      },
    },
  },
  hints: 'An email goes out now. Where nothing says after 60 seconds that it was taken, a text follows with the code and without the link.\nthe token was used:      npx tocsin close EVENT --reason consumed',
});
