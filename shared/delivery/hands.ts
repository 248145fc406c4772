import type { ProviderName } from '../domain/provider-answers.ts';
import type { AttemptState } from '../domain/state.ts';
import type { AttemptKey, Channel, RenderedMessage } from '../domain/words.ts';
import type { Decision } from '../domain/work.ts';
import type { Loaded } from '../ledger/load.ts';

/** A submission that stands in the ledger and is to be made. */
export interface Started {
  submission: number; message: RenderedMessage;
  /** Monotonic, from before the append that started it. */
  fencedFrom: number;
  /** When an answer must be there, by the ledger. */
  outcomeDueAt: number;
  /** When the notification was accepted, where this is its first submission of all. */
  acceptedAt: number | null;
  /** The notification as it is since the start; null where a load would bring more. */
  known: Loaded | null;
}

/** A worker's place that is kept for one submission until it is known whether that was committed. */
export interface Place { submit: (key: AttemptKey, started: Started) => void; leave: () => void }

export interface ChannelHands {
  provider: ProviderName;
  /** Null where every place is taken. */
  place: () => Place | null;
}

/** The workers of this very process, for those who decide in it. */
export interface Hands {
  /** Says who works on a channel; returns the way to say that it no longer does. */
  serve: (channel: Channel, hands: ChannelHands) => () => void;
  /** A place at the worker that carries the attempt; null where there is none, and it goes the usual way. */
  placeFor: (attempt: Pick<AttemptState, 'channel' | 'provider'>) => Place | null;
}

export const createHands = (): Hands => {
  const workers = new Map<Channel, ChannelHands>();
  return {
    serve: (channel, hands) => {
      workers.set(channel, hands);
      return () => { if (workers.get(channel) === hands) workers.delete(channel); };
    },
    placeFor: ({ channel, provider }) => {
      const hands = workers.get(channel);
      return hands?.provider === provider ? hands.place() : null;
    },
  };
};

/** Where services are processes of their own, whoever decides has no worker at hand. */
export const noHands: Hands = { serve: () => () => undefined, placeFor: () => null };

/** What one decision may start by itself. Every place that it was given is used or left, once. */
export interface Grasp {
  takes: (attempt: AttemptState) => boolean;
  /** A message that the decision has rendered: only what is at hand can be sent. */
  rendered: (key: AttemptKey, message: RenderedMessage) => void;
  /** The decision stands in the ledger: what it started is submitted. */
  submit: (decision: Decision, known: Loaded | null) => void;
  /** Leaves whatever was not used. */
  leave: () => void;
}

/** Opens a grasp for one decision that is about to be made. */
export const openGrasp = ({ hands, monotonic }: { hands: Hands; monotonic: () => number }): Grasp => {
  const fencedFrom = monotonic();
  const messages = new Map<AttemptKey, RenderedMessage>();
  const places = new Map<AttemptKey, Place>();
  return {
    rendered: (key, message) => { messages.set(key, message); },
    takes: (attempt) => {
      const place = messages.has(attempt.key) ? hands.placeFor(attempt) : null;
      if (place) places.set(attempt.key, place);
      return place !== null;
    },
    submit: ({ transitions, state }, known) => {
      const isFirst = state.attempts.filter((one) => !one.shadow).length === 1;
      for (const { transition: t } of transitions) {
        const place = t.kind === 'SubmissionStarted' ? places.get(t.details.attempt) : undefined;
        if (t.kind !== 'SubmissionStarted' || place === undefined) continue;
        const { attempt, submission, outcome_due_at: outcomeDueAt } = t.details;
        places.delete(attempt);
        place.submit(attempt, { submission, message: messages.get(attempt) as RenderedMessage, fencedFrom, outcomeDueAt, acceptedAt: isFirst && submission === 1 ? state.requestedAt : null, known });
      }
    },
    leave: () => {
      for (const place of places.values()) place.leave();
      places.clear();
    },
  };
};
