import type { AttemptKey, Channel, Instant } from './words.ts';
import { parseAttemptKey } from './words.ts';
import type { Policy, PolicyStep } from './policy.ts';
import type { ReasonCode } from './reasons.ts';
import { REASONS } from './reasons.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { findAttempt } from './state.ts';
import type { Transition, TransitionKind } from './transitions.ts';
import type { LetterEnd } from './explain-dead-letter.ts';
import type { ExplainedEntry } from './explain.ts';

/** One entry of the ledger with the state before and after it, as a sentence about it needs them. */
export interface Moment {
  at: Instant;
  before: NotificationState;
  after: NotificationState;
  /** The state after the last entry. */
  end: NotificationState;
  policy: Policy;
  /** The entries before this one. */
  earlier: readonly ExplainedEntry[];
  /** And those after it. */
  later: readonly ExplainedEntry[];
  letterEnds: readonly LetterEnd[];
}

/** The details of a kind of entry. */
export type DetailsOf<Kind extends TransitionKind> = Extract<Transition, { kind: Kind }>['details'];

/** An instant in UTC, ISO 8601; milliseconds only where there are any. */
export const instant = (at: Instant): string => new Date(at).toISOString().replace('.000Z', 'Z');

/** A duration for people: `10 s`, `2.5 s`, `15 min`. */
export const duration = (ms: number): string => (ms >= 60_000 && ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`);

/** `sms, email and fax`. */
export const listed = (words: readonly string[]): string =>
  (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

/** A channel as people write it. */
export const channelName = (channel: Channel): string => (channel === 'sms' ? 'SMS' : 'email');

/** A sentence with a capital in front. */
export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** `purpose/version`. */
export const policyName = (state: NotificationState): string => `${state.purpose}/${state.policyVersion}`;

/** An attempt by its channel; by its number too from the second on. */
export const attemptName = (key: AttemptKey): string => {
  const parts = parseAttemptKey(key);
  if (!parts) return key;
  return parts.sequence === 1 ? channelName(parts.channel) : `${channelName(parts.channel)} (attempt ${parts.sequence})`;
};

const BY = { provider: 'the provider said so', tocsin: 'Tocsin found so itself' } as const;

/** What it means that a channel was barred, by its reason. */
export const BARRED: Partial<Record<string, string>> = {
  no_address: 'the recipient has no address for it',
  no_consent: 'there is no consent or other basis that the policy accepts for it',
  consent_withdrawn: 'the recipient has taken back the consent to it',
  throttled: 'its destination has had as many as the policy allows within that time',
  quiet_hours: 'it was quiet there',
  suppressed: 'its destination is on the suppression list',
};

/** What a throttle lets through, under which version, and what came in its place; null where the step has none. */
export const tellThrottled = (index: number, { after, end, policy }: Pick<Moment, 'after' | 'end' | 'policy'>): string | null => {
  const throttle = policy.steps[index]?.throttle;
  if (!throttle) return null;
  const next = end.steps.find((other, at) => at > index && !other.shadow && (other.phase === 'started' || other.phase === 'waiting'));
  const instead = after.strategy === 'all' ? 'it was left out' : next === undefined ? 'no later channel was left for it'
    : next.phase === 'started' ? `${channelName(next.channel)} was started instead` : `${channelName(next.channel)} comes next instead`;
  return `its destination had the ${throttle.most} that policy ${policyName(after)} lets through within ${duration(throttle.withinMs)}, so ${instead}`;
};

/** A reason code and whose word it is. */
export const reasonText = (reason: ReasonCode | null): string => {
  if (reason === null) return 'no reason given';
  return Object.hasOwn(REASONS, reason) ? `${reason}; ${BY[REASONS[reason]]}` : reason;
};

/** `policy p/1 escalates on pending, accepted and failed`. */
export const escalationRule = (state: NotificationState, step: PolicyStep | undefined): string => {
  const rules = step?.escalateWhen ?? [];
  return `policy ${policyName(state)} escalates ${rules.length > 0 ? `on ${listed(rules)}` : 'on nothing'}`;
};

/** The attempt with that key. Throws where the ledger never planned it: a broken invariant. */
export const attemptIn = (state: NotificationState, key: AttemptKey): AttemptState => {
  const found = findAttempt(state, key);
  if (!found) throw new Error(`the ledger speaks of an attempt it never planned: ${key}`);
  return found;
};

/** Channels of steps that can still be claimed. */
export const waitingChannels = (state: NotificationState): Channel[] =>
  state.steps.filter((step) => step.phase === 'waiting').map((step) => step.channel);
