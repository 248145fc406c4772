import type { Demo, DemoFor } from './demo.ts';

const csv = (): Buffer => Buffer.from(['date,booking,amount', ...Array.from({ length: 200 }, (_none, day) => `2026-10-${String((day % 31) + 1).padStart(2, '0')},Booking ${day + 1},${(day * 37) % 500}.00`), ''].join('\r\n'), 'utf8');

/** An account report: an email with it and an SMS that says so, at once. */
export const demoReport = ({ outcome, expiresAt }: DemoFor): Demo => ({
  request: {
    path: '/notifications', needsKey: true,
    body: {
      purpose: 'account-report', ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
      recipient: { ref: 'demo-account', sms: `+120255501${outcome}`, email: `demo+${outcome}@example.com`, region: 'US', locale: 'en', consent: ['email:account_holder', 'sms:report_notice'] },
      variables: { report_title: 'Account report, October' },
    },
  },
  report: { bytes: csv(), type: 'text/csv' },
});
