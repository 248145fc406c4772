import type { AttemptKey, Channel, Instant } from './words.ts';
import type { Capabilities, ProviderName } from './provider-answers.ts';
import type { Policy, PolicyStep } from './policy.ts';
import type { Random } from './clocks.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { findAttempt } from './state.ts';
import type { Stamped, Transition } from './transitions.ts';
import type { ReasonCode } from './reasons.ts';
import { evolve } from './evolve.ts';
import { stepOf } from './clocks.ts';

/** What rendering an attempt came to: its hash, or the fact that it cannot be rendered. */
export type RenderOutcome = { ok: true; hash: string } | { ok: false; reason: ReasonCode };

export interface Carrier { name: ProviderName; capabilities: Capabilities }

/** All that a decision may know beside the state: time, randomness, policy and the pure rendering are inputs. */
export interface DecisionInput {
  now: Instant;
  random: Random;
  policy: Policy;
  /** The provider that carries each channel in this deployment. */
  carriers: Record<Channel, Carrier>;
  /** Renders the message of a step for an attempt planned at `now`; deterministic, called at most once per planned attempt. */
  render: (planned: { step: PolicyStep; attemptKey: AttemptKey; plannedAt: Instant }) => RenderOutcome;
}

/** What the surroundings must do once the transitions are committed; written in the same transaction. */
export type Request =
  /** Put a job into the channel's queue, not before that instant. */
  | { kind: 'enqueue'; attempt: AttemptKey; channel: Channel; generation: number; notBeforeAt: Instant }
  /** Work stopped and needs an operator. */
  | { kind: 'dead_letter'; attempt: AttemptKey; channel: Channel; reason: ReasonCode }
  /** Nobody needs to look at the dead letter of that attempt any more; null for every attempt of the notification. */
  | { kind: 'resolve_dead_letter'; attempt: AttemptKey | null; resolution: Resolution };

/** How a dead letter ended: by what became of its notification, or by an operator. */
export type Resolution = 'retried' | 'discarded' | 'delivered' | 'closed' | 'expired';

export interface Decision {
  transitions: Stamped[];
  requests: Request[];
  /** The state with the transitions folded in. */
  state: NotificationState;
}

/** A decision in the making: each emitted transition is folded at once, so that the next rule sees it. */
export interface Work {
  readonly input: DecisionInput;
  readonly state: NotificationState;
  emit: (transition: Transition) => void;
  request: (request: Request) => void;
  attempt: (key: AttemptKey) => AttemptState;
  stepFor: (attempt: AttemptState) => PolicyStep;
  finish: () => Decision;
}

/** Opens a decision on that state. */
export const openWork = (input: DecisionInput, start: NotificationState): Work => {
  let state = start;
  const transitions: Stamped[] = [];
  const requests: Request[] = [];
  return {
    input,
    get state() { return state; },
    emit: (transition) => {
      const stamped = { at: input.now, transition };
      state = evolve(state, stamped);
      transitions.push(stamped);
    },
    request: (request) => { requests.push(request); },
    attempt: (key) => {
      const found = findAttempt(state, key);
      if (!found) throw new Error(`no attempt ${key}`);
      return found;
    },
    stepFor: (attempt) => stepOf(input.policy, attempt.step),
    finish: () => ({ transitions, requests, state }),
  };
};
