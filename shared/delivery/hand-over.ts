import type { Channel } from '../domain/words.ts';
import type { OutboxRow } from '../ledger/claims.ts';
import type { Hands } from './hands.ts';
import { createHands } from './hands.ts';

/** An attempt that was just enqueued by a committed append. */
export type EnqueuedAttempt = Pick<OutboxRow, 'eventId' | 'attemptKey' | 'channel' | 'generation' | 'notBeforeAt'>;

/** Performs an attempt; false where it has to come again by the queue. */
export type PerformHere = (attempt: EnqueuedAttempt) => Promise<boolean>;

export interface HandOver {
  /** Offers what was just committed to the workers of this process. False where one of them has to go by the queue. */
  offer: (attempts: readonly EnqueuedAttempt[], now: number) => boolean;
  /** Says that this process works on a channel. Returns the way to say that it no longer does. */
  serve: (channel: Channel, perform: PerformHere) => () => void;
  /** Keys of attempts that are in hand; their outbox rows are left alone meanwhile. */
  inHand: () => string[];
  /** Whether the row's attempt is in hand at this moment. */
  holds: (row: EnqueuedAttempt) => boolean;
  /** Whether the row's attempt was performed here, so that nothing is left to enqueue. */
  wasPerformed: (row: EnqueuedAttempt) => boolean;
  /** Says that these rows are gone. */
  forget: (rows: readonly EnqueuedAttempt[]) => void;
  /** For what is started together with its decision, and so was never enqueued. */
  hands: Hands;
}

/** Ids only; more than this many waiting in one process had better be shared by means of the queue. */
const MOST_IN_HAND = 2_000;
const MOST_REMEMBERED = 10_000;

const rowId = ({ attemptKey, generation }: EnqueuedAttempt): string => `${attemptKey}-g${generation}`;

/**
 * Hands an attempt from whoever enqueued it to a worker of the same process, without the way through the queue. The outbox row stays until
 * the attempt was performed: where this process dies before that, or something goes wrong, the relay enqueues it as ever. `onGivenUp` is called
 * once an attempt that was in hand has to come by the queue after all.
 */
export const createHandOver = (onGivenUp: () => void = () => undefined): HandOver => {
  const workers = new Map<Channel, PerformHere>();
  const held = new Map<string, string>();
  const performed = new Set<string>();

  const take = (attempt: EnqueuedAttempt, perform: PerformHere): void => {
    const id = rowId(attempt);
    held.set(id, attempt.attemptKey);
    void perform(attempt).catch(() => false).then((isDone) => {
      held.delete(id);
      if (!isDone) onGivenUp();
      else if (performed.size < MOST_REMEMBERED) performed.add(id);
    });
  };
  return {
    offer: (attempts, now) => {
      let all = true;
      for (const attempt of attempts) {
        const perform = workers.get(attempt.channel);
        if (perform && attempt.notBeforeAt <= now && held.size < MOST_IN_HAND) take(attempt, perform);
        else all = false;
      }
      return all;
    },
    serve: (channel, perform) => {
      workers.set(channel, perform);
      return () => { if (workers.get(channel) === perform) workers.delete(channel); };
    },
    inHand: () => [...held.values()],
    holds: (row) => held.has(rowId(row)),
    wasPerformed: (row) => performed.has(rowId(row)),
    forget: (rows) => { for (const row of rows) performed.delete(rowId(row)); },
    hands: createHands(),
  };
};
