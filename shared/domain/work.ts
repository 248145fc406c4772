import type { AttemptKey, Channel, Instant } from './words.ts';
import type { Capabilities, ProviderName } from './provider-answers.ts';
import type { Policy, PolicyStep } from './policy.ts';
import type { Random } from './clocks.ts';
import type { Eligibility } from './eligibility.ts';
import type { OffsetAt } from './quiet-hours.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { findAttempt } from './state.ts';
import type { ContentSnapshot, Stamped, Transition } from './transitions.ts';
import type { ReasonCode } from './reasons.ts';
import type { ProviderState, ProviderStates } from './provider-state.ts';
import { NEVER_OPENED } from './provider-state.ts';
import { evolve } from './evolve.ts';
import { stepOf } from './clocks.ts';

/** What rendering an attempt came to: its hash, or the fact that it cannot be rendered. */
export type RenderOutcome = { ok: true; hash: string; content?: ContentSnapshot } | { ok: false; reason: ReasonCode };

export interface Carrier { name: ProviderName; capabilities: Capabilities }

/** All that a decision may know beside the state: time, randomness, policy and the pure rendering are inputs. */
export interface DecisionInput {
  now: Instant;
  random: Random;
  policy: Policy;
  /** The provider that carries each channel in this deployment. */
  carriers: Record<Channel, Carrier>;
  /** What bars a channel for this recipient, read together with the state. */
  eligibility: Eligibility;
  /** The clocks of time zones. Needed where quiet hours were bound at acceptance. */
  offsetAt?: OffsetAt;
  /** What is known of the providers' accounts. Without it they all count as working, and nothing rests on it. */
  providers?: ProviderStates;
  /** Whether a worker of this very process takes an attempt that this decision queues. Where one does, its submission starts in the same append. */
  takes?: (attempt: AttemptState) => boolean;
  /** Renders the message of a step for an attempt planned at `now`; deterministic, called at most once per planned attempt. */
  render: (planned: { step: PolicyStep; attemptKey: AttemptKey; plannedAt: Instant }) => RenderOutcome;
}

/** What the surroundings must do once the transitions are committed; written in the same transaction. */
export type Request =
  /** Put a job into the channel's queue, not before that instant. */
  | { kind: 'enqueue'; attempt: AttemptKey; channel: Channel; generation: number; notBeforeAt: Instant }
  /** Work stopped and needs an operator. */
  | { kind: 'dead_letter'; attempt: AttemptKey; channel: Channel; reason: ReasonCode }
  /** A provider says that the recipient wants nothing more on that channel from our sender: nothing goes there any more. */
  | { kind: 'suppress'; attempt: AttemptKey; channel: Channel; reason: ReasonCode }
  /** The append stands only while no more than that many of its purpose were begun to its destination within that time, and it counts as one from then on. */
  | { kind: 'throttle'; attempt: AttemptKey; channel: Channel; most: number; withinMs: number }
  /** The append stands only while the provider is at that revision; `write` is what it is from then on, null leaves it. */
  | { kind: 'provider'; provider: ProviderName; expected: number; write: ProviderState | null }
  /** Nobody needs to look at the dead letter of that attempt any more; null for every attempt of the notification. */
  | { kind: 'resolve_dead_letter'; attempt: AttemptKey | null; resolution: Resolution };

/** How a dead letter ended: by what became of its notification, or by an operator. */
export type Resolution = 'retried' | 'discarded' | 'delivered' | 'closed' | 'expired' | 'payload_destroyed' | 'erased';

export interface Decision {
  transitions: Stamped[];
  requests: Request[];
  /** The state with the transitions folded in. */
  state: NotificationState;
  /** The state after each of them, the last one being `state`: whoever writes them down need not fold them again. */
  states?: readonly NotificationState[];
}

/** A decision in the making: each emitted transition is folded at once, so that the next rule sees it. */
export interface Work {
  readonly input: DecisionInput;
  readonly state: NotificationState;
  emit: (transition: Transition) => void;
  request: (request: Request) => void;
  /** Takes back what this decision wanted enqueued of an attempt. */
  dropEnqueue: (key: AttemptKey) => void;
  attempt: (key: AttemptKey) => AttemptState;
  stepFor: (attempt: AttemptState) => PolicyStep;
  /** A provider as it is known, with what this decision has written of it. */
  provider: (name: ProviderName) => ProviderState;
  setProvider: (name: ProviderName, next: ProviderState) => void;
  /** What is decided holds only while the provider is as it was known. */
  restOnProvider: (name: ProviderName) => void;
  finish: () => Decision;
}

/** Opens a decision on that state. */
export const openWork = (input: DecisionInput, start: NotificationState): Work => {
  const transitions: Stamped[] = [];
  const states: NotificationState[] = [];
  let requests: Request[] = [];
  /** What this decision writes of a provider, or rests on (null). Nearly always one of them, or none. */
  const written: { provider: ProviderName; write: ProviderState | null }[] = [];
  const known = (name: ProviderName): ProviderState => input.providers?.[name] ?? NEVER_OPENED;
  const findWritten = (name: ProviderName) => written.find(({ provider }) => provider === name);
  // A plain member and not a getter: an object with one is slow in every access, and each rule reads this.
  const work: Work & { state: NotificationState } = {
    input,
    state: start,
    emit: (transition) => {
      const stamped = { at: input.now, transition };
      work.state = evolve(work.state, stamped);
      transitions.push(stamped);
      states.push(work.state);
    },
    request: (request) => { requests.push(request); },
    dropEnqueue: (key) => { requests = requests.filter((one) => one.kind !== 'enqueue' || one.attempt !== key); },
    attempt: (key) => {
      const found = findAttempt(work.state, key);
      if (!found) throw new Error(`no attempt ${key}`);
      return found;
    },
    stepFor: (attempt) => stepOf(input.policy, attempt.step),
    provider: (name) => findWritten(name)?.write ?? known(name),
    setProvider: (name, next) => {
      const write = { ...next, revision: known(name).revision + 1 };
      const before = findWritten(name);
      if (before) before.write = write;
      else written.push({ provider: name, write });
    },
    restOnProvider: (name) => { if (input.providers && !findWritten(name)) written.push({ provider: name, write: null }); },
    finish: () => ({
      transitions, state: work.state, states,
      requests: [...requests, ...written.map(({ provider, write }): Request => ({ kind: 'provider', provider, expected: known(provider).revision, write }))],
    }),
  };
  return work;
};
