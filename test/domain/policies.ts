import type { Channel } from '../../shared/domain/words.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import type { Carrier } from '../../shared/domain/work.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const step = (channel: Channel, change: Partial<PolicyStep>): PolicyStep => ({
  name: channel, channel, template: `example-${channel}`, templateVersion: 1,
  pollOffsetsMs: channel === 'sms' ? [5 * SECOND, 10 * SECOND, 20 * SECOND] : [], pollJitter: 0.1, finalPollLeadMs: 2 * SECOND,
  decideWithinMs: channel === 'sms' ? 30 * SECOND : 10 * MINUTE, reserveMs: 60 * SECOND,
  escalateWhen: ['pending', 'accepted', 'unknown', 'failed'], onUnknown: 'hold', maxObservationAgeMs: 10 * SECOND, lookWithinMs: 3 * SECOND,
  transportRetry: { maxSubmissions: 3, baseMs: SECOND, capMs: 10 * SECOND }, submitLimitMs: 15 * SECOND, requeueAfterMs: 5 * SECOND,
  ...change,
});

export interface PolicyChange { policy?: Partial<Policy>; sms?: Partial<PolicyStep>; email?: Partial<PolicyStep>; order?: Channel[] }

/** A policy built by hand: SMS, then email, with the clocks of the demo; each part can be changed. */
export const examplePolicy = ({ policy, sms, email, order = ['sms', 'email'] }: PolicyChange = {}): Policy => ({
  purpose: 'example', version: 1, strategy: 'escalate', urgency: 'urgent', classification: 'transactional',
  regions: { US: { consent: { sms: ['on_call_duty'], email: ['on_call_duty'] } } },
  expiresAfterMs: 15 * MINUTE, reconcileGraceMs: 10 * MINUTE, reconcileEveryMs: 5 * SECOND, reconcileCapMs: 60 * SECOND, retentionMs: 400 * 24 * 60 * MINUTE,
  steps: order.map((channel) => step(channel, (channel === 'sms' ? sms : email) ?? {})),
  ...policy,
});

/** An SMS provider that can be polled and searched, and a mail server that says nothing after its acceptance. */
export const CARRIERS: Record<Channel, Carrier> = {
  sms: { name: 'twilio', capabilities: { dedup: 'none', reconcile: 'heuristic', evidence: 'carrier', statusByPoll: true } },
  email: { name: 'smtp', capabilities: { dedup: 'none', reconcile: 'none', evidence: 'none', statusByPoll: false } },
};

/** An SMS provider that is searched by our own reference, and a mail provider that drops a duplicate of a key for a day. */
export const RECONCILING: Record<Channel, Carrier> = {
  sms: { name: 'sinch', capabilities: { dedup: 'none', reconcile: 'reference', visibleAfterMs: 8 * SECOND, evidence: 'carrier', statusByPoll: true } },
  email: { name: 'resend', capabilities: { dedup: 'replay', replayWithinMs: 24 * 60 * MINUTE, reconcile: 'replay', evidence: 'mta', statusByPoll: true } },
};
