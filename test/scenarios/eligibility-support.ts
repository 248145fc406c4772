import { expect } from '@jest/globals';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Policy, PolicyStep, QuietHours } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { expectAnswers } from '../support/answers.ts';
import { golden, steadied } from '../support/golden.ts';
import { shippedPolicies, shippedPolicy, urgentRequest } from '../support/test-engine.ts';
import type { World } from '../support/world.ts';

const HOUR = 3_600_000;

/** A shipped policy with something added to it, under a number of its own. */
export const shippedWith = (purpose: string, change: (policy: Policy) => Partial<Policy>): Policy => {
  const policy = shippedPolicy(purpose);
  return { ...policy, version: policy.version + 1, ...change(policy) };
};
/** Quiet hours of channels in every region of a policy. */
export const silent = (hours: Partial<Record<Channel, QuietHours>>) => ({ regions }: Policy): Pick<Policy, 'regions'> =>
  ({ regions: Object.fromEntries(Object.entries(regions).map(([region, rule]) => [region, { ...rule, quietHours: hours }])) });
/** A change of the step of one channel. */
export const stepWith = (channel: Channel, change: Partial<PolicyStep>) => ({ steps }: Policy): Pick<Policy, 'steps'> =>
  ({ steps: steps.map((step) => (step.channel === channel ? { ...step, ...change } : step)) });
/** Beside the shipped ones, which they replace where they have a higher number. */
export const withShipped = (policies: Policy[]): Policy[] => [...shippedPolicies(), ...policies];

const WORDS: Record<string, Record<string, string>> = {
  'password-reset': { service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_url: 'https://accounts.example.com/reset/tok-1', reset_code: '481001' },
  'seller-order': { order_id: '1001', item: 'a lamp', act_by: '18:30 UTC', order_url: 'https://shop.example.com/o/1001' },
  'account-report': { report_title: 'Fees', report_url_email: 'https://reports.example.com/reports/e', report_url_sms: 'https://reports.example.com/reports/s' },
};

export interface Asked { eventId: string; sms: string; email: string }
export interface Asking {
  purpose: string; sms?: unknown[]; email?: unknown[]; timeZone?: string | null; bases?: string[]; expiresInMs?: number; to?: Asked;
  variables?: Record<string, string>;
}

const DELIVERED = [{ status: 'delivered', afterMs: 3_000 }];
/** Past the expiry and grace of whatever is urgent, so that it has come to its end. */
const TO_THE_END = HOUR;

/** Notifications of any purpose, each with numbers and scripts of its own. */
export const openAsking = (world: World) => {
  let serial = 0;
  return {
    ask: async ({ purpose, sms = DELIVERED, email = DELIVERED, timeZone = null, bases = ['consent', 'contract', 'on_call_duty', 'report_notice'], expiresInMs, to, variables }: Asking): Promise<Asked> => {
      serial += 1;
      const asked = { sms: to?.sms ?? `+1202555${String(3_000 + serial)}`, email: to?.email ?? `person-${serial}@example.com` };
      if (!to) for (const [address, script] of [[asked.sms, sms], [asked.email, email]] as const) expect(world.sandbox.setScenario(address, script as never)).toBeNull();
      const words = variables ?? WORDS[purpose];
      const request: Partial<AcceptRequest> = {
        purpose, ...(expiresInMs === undefined ? {} : { expiresAt: world.now() + expiresInMs }), ...(words ? { variables: () => words } : {}),
        recipient: { ref: `person-${serial}`, ...asked, region: 'US', locale: 'en', timeZone, consent: (['sms', 'email'] as const).flatMap((channel) => bases.map((basis) => ({ channel, basis, reference: 'terms/1' }))) },
      };
      const outcome = await acceptNotification(world.engine, urgentRequest('03', request));
      if (outcome.kind !== 'accepted') throw new Error(JSON.stringify(outcome));
      return { eventId: outcome.eventId, ...asked };
    },
    received: (to: string): number => world.sandbox.messages({ to }).length,
    /** The one record of how it ended, as anyone may read it, against the kept text. */
    ends: async (eventId: string, name: string, untilMs = TO_THE_END): Promise<void> => {
      await world.advance(untilMs);
      const state = await world.state(eventId);
      const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
      const entries = (await readEntries(world.engine.db, eventId)).map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) }));
      const text = steadied(`status: ${await world.status(eventId)}\n\n${explain(state, entries, policy).join('\n')}\n`, state.requestedAt);
      await expectAnswers(world, eventId, `eligibility/${name}`);
      expect(text).toContain(`policy ${state.purpose}/${state.policyVersion}`);
      expect(text).toBe(golden(new URL(`./golden/eligibility/${name}.txt`, import.meta.url), text));
    },
  };
};

/** Whether the attempt of a channel is in one of these states. */
export const has = (channel: Channel, ...states: string[]) => (state: NotificationState): boolean => state.attempts.some((attempt) => attempt.channel === channel && states.includes(attempt.state));
