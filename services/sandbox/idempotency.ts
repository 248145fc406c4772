import type { Response } from 'express';
import type { Inbox, Receipt } from './inbox.ts';

/** How long a key is kept. */
export const KEY_LIFE_MS = 24 * 3_600_000;

export type KeyUse =
  | { kind: 'new' }
  /** The same request again: the first one's message is the answer, and no second one is sent. */
  | { kind: 'replay'; first: Receipt }
  | { kind: 'other_body' }
  /** The first request under this key has not been answered yet. */
  | { kind: 'in_progress' };

export interface IdempotencyKeys {
  use: (key: string, contentSha256: string, now: number) => KeyUse;
  /** Holds the key until the response is over, answered or not. */
  hold: (key: string, response: Response) => void;
  /** Keeps the message that was accepted under the key. */
  keep: (key: string, receipt: Receipt) => void;
}

/** The keys of accepted messages, those of an earlier run of the sandbox included; `isOurs` picks the API's own receipts. */
export const createIdempotencyKeys = (inbox: Inbox, isOurs: (receipt: Receipt) => boolean): IdempotencyKeys => {
  const firsts = new Map<string, Receipt>();
  const held = new Set<string>();
  for (const receipt of inbox.accepted()) {
    if (receipt.attemptKey !== null && isOurs(receipt) && !firsts.has(receipt.attemptKey)) firsts.set(receipt.attemptKey, receipt);
  }
  return {
    use(key, contentSha256, now) {
      if (held.has(key)) return { kind: 'in_progress' };
      const first = firsts.get(key);
      // a cleared inbox forgets its keys too
      if (!first || !inbox.byId(first.id) || now - first.receivedAt >= KEY_LIFE_MS) return { kind: 'new' };
      return first.contentSha256 === contentSha256 ? { kind: 'replay', first } : { kind: 'other_body' };
    },
    hold(key, response) {
      held.add(key);
      response.once('close', () => held.delete(key));
    },
    keep: (key, receipt) => { firsts.set(key, receipt); },
  };
};
