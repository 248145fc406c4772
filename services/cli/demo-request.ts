import { UsageError } from './refusal.ts';

/** A file to be stored before the notification that carries it. */
export interface ReportFile { bytes: Buffer; type: string }
export interface Demo { body: Record<string, unknown>; report?: ReportFile }

const csv = (): Buffer => Buffer.from(['date,booking,amount', ...Array.from({ length: 200 }, (_none, day) => `2026-10-${String((day % 31) + 1).padStart(2, '0')},Booking ${day + 1},${(day * 37) % 500}.00`), ''].join('\r\n'), 'utf8');

/** One ready request for each purpose that has a demo: to a number and an address of the sandbox whose messages arrive. */
const DEMOS: Readonly<Record<string, () => Demo>> = {
  'account-report': () => ({
    body: {
      purpose: 'account-report',
      recipient: { ref: 'demo-account', sms: '+12025550101', email: 'demo+01@example.com', region: 'US', locale: 'en', consent: ['email:account_holder', 'sms:report_notice'] },
      variables: { report_title: 'Account report, October' },
    },
    report: { bytes: csv(), type: 'text/csv' },
  }),
};

/** The demo of a purpose. @throws UsageError where it has none. */
export const demoOf = (purpose: string | undefined): Demo => {
  const make = purpose === undefined ? undefined : Object.hasOwn(DEMOS, purpose) ? DEMOS[purpose] : undefined;
  if (!make) throw new UsageError(`--demo needs one of these purposes: ${Object.keys(DEMOS).join(', ')}`, '--demo');
  return make();
};
