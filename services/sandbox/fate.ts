import type { Receipt } from './inbox.ts';
import type { StatusEvent } from './script.ts';

/** What a reader learns at `now`. Computed from the instant of acceptance on each read: there is no timer per message. */
export interface Reading { event: StatusEvent; updatedAt: number; sentAt: number | null }

const BEFORE_SENDING = new Set(['accepted', 'scheduled', 'queued', 'sending', 'malformed']);
const QUEUED: StatusEvent = { status: 'queued', afterMs: 0, errorCode: null };

/** The last event that has come by `now` (ms since the epoch); `queued` before the first one. */
export const readFate = (receipt: Receipt, now: number): Reading => {
  const elapsed = now - receipt.receivedAt;
  let current = QUEUED;
  let sentAt: number | null = null;
  for (const event of receipt.fate?.events ?? []) {
    if (event.afterMs > elapsed) break;
    current = event;
    if (sentAt === null && !BEFORE_SENDING.has(event.status)) sentAt = receipt.receivedAt + event.afterMs;
  }
  return { event: current, updatedAt: receipt.receivedAt + current.afterMs, sentAt };
};

/** What stands in the way of one status read of an accepted message. */
export type ReadObstacle = { kind: 'hang' } | { kind: 'fail'; httpStatus: number; retryAfter: number | string | null } | { kind: 'not_found' } | null;

/** Counts the status reads of each message, so that a script can fail or hide the first ones: hangs, then failures, then not-found. */
export const createReadObstacles = (): ((receipt: Receipt) => ReadObstacle) => {
  const reads = new WeakMap<Receipt, number>();
  return (receipt) => {
    const { fate } = receipt;
    if (!fate || (fate.readHangs === 0 && !fate.statusFault && fate.notFoundTimes === 0)) return null;
    const before = reads.get(receipt) ?? 0;
    reads.set(receipt, before + 1);
    const fails = fate.statusFault?.times ?? 0;
    if (before < fate.readHangs) return { kind: 'hang' };
    if (fate.statusFault && before < fate.readHangs + fails) return { kind: 'fail', httpStatus: fate.statusFault.httpStatus, retryAfter: fate.statusFault.retryAfter };
    return before < fate.readHangs + fails + fate.notFoundTimes ? { kind: 'not_found' } : null;
  };
};
