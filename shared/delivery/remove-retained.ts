import { CHECKPOINT_PURPOSE } from '../ledger/checkpoint.ts';
import { doneMonths, dropEmptyMonth, eraseRetainedTickets, lookAtGroup, markRetentionDone, nextRetentionStep, removeRetained, retentionGroups, summarizeEvents } from '../ledger/retention.ts';
import type { RetentionGroup } from '../ledger/retention.ts';
import { headsDigest, signTombstone } from '../ledger/tombstone.ts';
import { signingKeyOf } from '../security/signing-key.ts';
import type { Engine } from './engine.ts';

type RetentionEngine = Pick<Engine, 'db' | 'ring' | 'now'>;

const EACH_STEP = 500;
const TICKETS_EACH = 1_000;

/** What of a month and purpose is past its retention; `held` notifications keep all of it where they are more than none. */
export interface RetentionFinding { month: string; purpose: string; notifications: number; held: number; removed: number; dropped: boolean }

export interface RetentionHooks {
  /** Most steps of 500 notifications each; without it, to the end. */
  steps?: number;
  /** Before each step; what it throws ends the work there. */
  onStep?: (removed: number) => Promise<void> | void;
}

const removeStep = async ({ db, ring, now }: RetentionEngine, group: RetentionGroup): Promise<number> => {
  const step = await nextRetentionStep(db, group, EACH_STEP);
  if (step === null) return 0;
  const ids = step.heads.map((head) => head.eventId);
  const at = now();
  const stone = signTombstone(signingKeyOf(ring, CHECKPOINT_PURPOSE), {
    month: group.month, purpose: group.purpose, classification: step.classification, removed_at: at, notifications: ids.length, entries: step.entries,
    first_position: step.firstPosition, last_position: step.lastPosition, first_event: ids[0] as string, last_event: ids.at(-1) as string, heads: headsDigest(step.heads),
  });
  await removeRetained(db, ids, { now: at, stone });
  return ids.length;
};

/** Finds what is past its retention; changes nothing. */
export const findRetained = async ({ db, now }: RetentionEngine): Promise<RetentionFinding[]> => {
  const findings: RetentionFinding[] = [];
  for (const group of await retentionGroups(db, now())) {
    const { notifications, held } = await lookAtGroup(db, group, now());
    if (notifications > 0) findings.push({ month: group.month, purpose: group.purpose, notifications, held, removed: 0, dropped: false });
  }
  return findings;
};

/**
 * Removes what is past its retention, a month of a purpose at a time and in steps, each with its signed tombstone; a month in which anything of
 * the purpose is still open or younger waits as a whole. A partition of which nothing is left is dropped. Again, or by several, is harmless.
 */
export const removePastRetention = async (engine: RetentionEngine, { steps = Number.POSITIVE_INFINITY, onStep = () => undefined }: RetentionHooks = {}): Promise<RetentionFinding[]> => {
  const { db, now } = engine;
  const findings: RetentionFinding[] = [];
  let taken = 0;
  for (const group of await retentionGroups(db, now())) {
    if (taken >= steps) break;
    const { notifications, held } = await lookAtGroup(db, group, now());
    const finding = { month: group.month, purpose: group.purpose, notifications, held, removed: 0, dropped: false };
    if (notifications > 0) findings.push(finding);
    if (notifications > 0 && held === 0) await summarizeEvents(db);
    while (held === 0 && finding.removed < notifications && taken < steps) {
      await onStep(finding.removed);
      const removed = await removeStep(engine, group);
      taken += 1;
      if (removed === 0) break;
      finding.removed += removed;
    }
    if (held === 0 && finding.removed >= notifications) await markRetentionDone(db, group, now());
  }
  for (const month of await doneMonths(db)) {
    // Whoever is at work there goes first: the room is given back another day.
    const dropped = await dropEmptyMonth(db, month).catch(() => false);
    for (const finding of findings) if (finding.month === month) finding.dropped = dropped;
  }
  return findings;
};

/** Erases what players wrote once its own retention is over, wherever the month as a whole is not removed yet; returns how many. */
export const eraseTicketsPastRetention = async ({ db, now }: RetentionEngine): Promise<number> => {
  let erased = 0;
  for (let some = TICKETS_EACH; some === TICKETS_EACH; erased += some) some = await eraseRetainedTickets(db, now(), TICKETS_EACH);
  return erased;
};
