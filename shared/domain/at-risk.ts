import type { AttemptKey, Instant } from './words.ts';
import type { AlertTerms, Policy } from './policy.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { awaitsOperator, currentAttempt, hasFailed, hasLostPayload, isPastExpiry, isUnsubmitted, withoutShadows } from './state.ts';
import { awaitsDeadline, evidenceClass } from './escalation.ts';
import { hasOpenDeadLetter } from './payload-lifetime.ts';
import { claimBlockedUntil } from './precondition.ts';
import { isOver, nextDecideAt } from './lifecycle.ts';
import { earliest, stepOf } from './clocks.ts';

/**
 * What an operator should know of a notification. `at_risk`: near its end with nothing under way that can still reach its recipient.
 * `reserve_used`: nothing of that kind is under way, and the time kept for it runs. `stalled`: what was due did not come to pass.
 */
export const RISKS = ['at_risk', 'reserve_used', 'stalled', 'not_dispatched', 'unknown_too_long', 'delivered_after_close'] as const;
export type RiskKind = (typeof RISKS)[number];

/** One finding. `since` is when it began, `until` when it ends by itself; null where it does not. */
export interface Risk { kind: RiskKind; since: Instant; until: Instant | null; attempt: AttemptKey | null }

/** How long a delivery on a closed notification is shown. */
export const LATE_DELIVERY_SHOWN_MS = 24 * 3_600_000;
/** The shortest `stalled_for` that a policy may state: what is due is taken up within seconds, by every coordinator. */
export const LEAST_STALLED_MS = 10_000;

const SECOND = 1_000;

/** The thresholds of a policy, with what holds where it says nothing. Source: docs/alerts.md. */
export const alertTerms = ({ alerts = {}, expiresAfterMs, urgency }: Policy): Required<Omit<AlertTerms, 'unknownForMs'>> => ({
  pageBeforeMs: alerts.pageBeforeMs ?? Math.round(expiresAfterMs / 2),
  dispatchWithinMs: alerts.dispatchWithinMs ?? (urgency === 'urgent' ? 30 : 300) * SECOND,
  stalledForMs: alerts.stalledForMs ?? (urgency === 'urgent' ? 30 : 300) * SECOND,
});

/** Nothing more comes of it by itself; where shadows are left out, also while one of them is still to end. */
const hasEnded = (state: NotificationState): boolean => state.settledAt !== null || isOver(state);

const NEVER: Instant = Number.NEGATIVE_INFINITY;
const ALWAYS: Instant = Number.POSITIVE_INFINITY;

/** Where the policy uses all of its channels, one that stopped for want of an operator is missed whatever became of the others. */
const stoppedAlone = (state: NotificationState): boolean => state.strategy === 'all' && hasOpenDeadLetter(state);

/** Nobody is known to be reached, and somebody may still be: by itself, or by an operator's retry. */
const isUnresolved = (state: NotificationState): boolean =>
  state.version > 0 && !state.rejected && !state.closed && !state.expired && (stoppedAlone(state) || (!state.attempts.some((attempt) => attempt.state === 'delivered')
    && (!hasEnded(state) || state.attempts.some((attempt) => awaitsOperator(attempt) || (hasFailed(attempt) && attempt.state !== 'suppressed' && !hasLostPayload(state))))));

/** The provider's acceptance is all that is waited for: its policy starts no other channel on it. */
const isFirm = (policy: Policy, state: NotificationState, attempt: AttemptState): boolean =>
  attempt.evidence?.outcome === 'accepted'
  && (state.strategy === 'all' || !policy.steps.some(({ shadow }, index) => index > attempt.step && !shadow) || !stepOf(policy, attempt.step).escalateWhen.includes('accepted'));

/** Until when an attempt counts as one that can still reach its recipient. One whose outcome is unknown never does. */
const usableUntil = (policy: Policy, state: NotificationState, attempt: AttemptState): Instant => {
  const { dispatchWithinMs, stalledForMs } = alertTerms(policy);
  if (isUnsubmitted(attempt) || attempt.state === 'submitting') {
    // However often it is tried: what no provider has taken by then is not on its way, whether it is in a queue or in a call just now.
    return Math.min(attempt.startsAt, state.paused?.at ?? ALWAYS) + dispatchWithinMs;
  }
  if (attempt.state !== 'submitted') return NEVER;
  return isFirm(policy, state, attempt) ? ALWAYS : attempt.decisionDeadlineAt + stalledForMs;
};

/** Until when a further channel can be counted on: its claim is made by the clock, unless it is paused or the policy does not permit it. */
const fallbackUntil = (policy: Policy, state: NotificationState): Instant => {
  const attempt = currentAttempt(state);
  if (attempt === null || state.paused || state.strategy !== 'escalate' || !state.steps.some(({ phase }) => phase === 'waiting')) return NEVER;
  if (!awaitsDeadline(attempt) || !stepOf(policy, attempt.step).escalateWhen.includes(evidenceClass(attempt))) return NEVER;
  return Math.max(attempt.lookUntil ?? attempt.decisionDeadlineAt, claimBlockedUntil(state) ?? NEVER) + alertTerms(policy).stalledForMs;
};

/** From when on nothing under way can reach the recipient, if nothing more is heard; null where something can for good. */
const nothingSince = (policy: Policy, state: NotificationState): Instant | null => {
  let until = Math.max(state.requestedAt, fallbackUntil(policy, state));
  for (const attempt of state.attempts) until = Math.max(until, usableUntil(policy, state, attempt));
  return until === ALWAYS ? null : until;
};

/** Of one that is unresolved. */
const endangered = (policy: Policy, state: NotificationState): Risk[] => {
  const since = nothingSince(policy, state);
  if (since === null || since >= state.expiresAt) return [];
  const attempt = currentAttempt(state)?.key ?? null;
  const pageAt = Math.max(since, state.expiresAt - alertTerms(policy).pageBeforeMs);
  const page: Risk = { kind: 'at_risk', since: pageAt, until: state.expiresAt, attempt };
  return since < pageAt ? [page, { kind: 'reserve_used', since, until: pageAt, attempt }] : [page];
};

/** The objective of an unknown outcome: by then it should be known, or another channel stand in for it. */
const objectiveMs = (policy: Policy, attempt: AttemptState): number => policy.alerts?.unknownForMs ?? stepOf(policy, attempt.step).decideWithinMs;

/** What is found of one attempt; null where nothing is. `unresolved` as its notification is. */
const ofAttempt = (policy: Policy, state: NotificationState, { attempt, unresolved }: { attempt: AttemptState; unresolved: boolean }): Risk | null => {
  const { key, startsAt, settledAt } = attempt;
  if (state.closed) {
    // A fact about the past; whoever closed it wants to know that the message came all the same.
    return attempt.state === 'delivered' && settledAt !== null && settledAt > state.closed.at
      ? { kind: 'delivered_after_close', since: settledAt, until: settledAt + LATE_DELIVERY_SHOWN_MS, attempt: key } : null;
  }
  if (!unresolved || settledAt !== null) return null;
  if (isUnsubmitted(attempt) && attempt.submissions === 0 && !attempt.superseded) {
    return { kind: 'not_dispatched', since: startsAt + alertTerms(policy).dispatchWithinMs, until: state.expiresAt, attempt: key };
  }
  const booked = attempt.unknownSubmissions.at(-1)?.bookedAt;
  return attempt.state === 'submitted_unknown' && booked !== undefined
    ? { kind: 'unknown_too_long', since: booked + objectiveMs(policy, attempt), until: state.reconcileUntil, attempt: key } : null;
};

/** What is due and was not taken up: a decision, or a status read. */
const stalled = (policy: Policy, state: NotificationState): Risk[] => {
  if (hasEnded(state)) return [];
  const { stalledForMs } = alertTerms(policy);
  const due = [{ at: nextDecideAt(state), attempt: null as AttemptKey | null }, ...state.attempts.map(({ nextPollAt, key }) => ({ at: nextPollAt, attempt: key }))]
    .filter((one): one is { at: Instant; attempt: AttemptKey | null } => one.at !== null);
  const first = due.reduce<{ at: Instant; attempt: AttemptKey | null } | null>((oldest, one) => (oldest === null || one.at < oldest.at ? one : oldest), null);
  return first === null ? [] : [{ kind: 'stalled', since: first.at + stalledForMs, until: null, attempt: first.attempt }];
};

/** All that is found of a notification as it stands, now or later; only what is overdue is not among it. What runs in shadow alarms nobody. */
export const risksOf = (policy: Policy, whole: NotificationState): Risk[] => {
  const state = withoutShadows(whole);
  const unresolved = isUnresolved(state);
  const risks = unresolved ? endangered(policy, state) : [];
  for (const attempt of state.attempts) {
    const risk = ofAttempt(policy, state, { attempt, unresolved });
    if (risk) risks.push(risk);
  }
  return risks.filter(({ since, until }) => until === null || since < until);
};

/** How a page about a notification came to its end. */
export type EndedAs = 'reached' | 'closed' | 'expired' | 'under_way';

/** How it stands where it is at risk no more: `expired` where nobody is known to be reached and nothing may be started any more. */
export const endedAs = (state: NotificationState, now: Instant): EndedAs => {
  if (state.closed) return 'closed';
  if (state.attempts.some((attempt) => attempt.state === 'delivered')) return 'reached';
  return state.expired || isPastExpiry(state, now) ? 'expired' : 'under_way';
};

/** What wants nobody comes after what does; else the oldest first. */
export const byUrgency = (one: Pick<Risk, 'kind' | 'since'>, other: Pick<Risk, 'kind' | 'since'>): number =>
  Number(one.kind === 'delivered_after_close') - Number(other.kind === 'delivered_after_close') || one.since - other.since;

/**
 * What is to be known of a notification at `now`, the oldest first. Pure: the thresholds are the policy's (`alerts`), and a finding
 * follows from the state alone and the clock.
 */
export const atRisk = (policy: Policy, state: NotificationState, now: Instant): Risk[] =>
  [...risksOf(policy, state), ...stalled(policy, withoutShadows(state))].filter(({ since, until }) => since <= now && (until === null || now < until)).sort(byUrgency);

/**
 * When a notification as it stands is to be looked at for the first time, after `after`; null where nothing is found while it stands so, or where a decision
 * comes first and lays this anew: so what goes its usual way is in no list of those to look at. That a decision does not come at all
 * is told by its own due instant (`stalled`).
 */
export const riskAt = (policy: Policy, state: NotificationState, after: Instant = NEVER): Instant | null => {
  const first = earliest(...risksOf(policy, state).map(({ since }) => (since > after ? since : null)));
  if (first === null) return null;
  const decision = nextDecideAt(state);
  return decision !== null && decision <= first ? null : first;
};
