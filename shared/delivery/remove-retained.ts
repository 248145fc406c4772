import { CHECKPOINT_PURPOSE } from '../ledger/checkpoint.ts';
import { doneMonths, dropEmptyMonth, eraseRetainedTickets, lookAtGroup, markRetentionDone, nextRetentionStep, removeRetained, retentionGroups, summarizeEvents } from '../ledger/retention.ts';
import type { RetentionGroup } from '../ledger/retention.ts';
import { isDatabaseAway } from '../ledger/database.ts';
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
  /** Told of a month, and of its purpose where one is at fault, that could not be done; the work goes on with the next. Without it the error ends the work. */
  onFailure?: (failure: RetentionFailure) => void;
}

export interface RetentionFailure { month: string; /** Null where the partition of the month could not be dropped. */ purpose: string | null; error: unknown }

/** What `onStep` threw: it is meant to end the work, and no failure of a month. */
class Ended extends Error {
  readonly reason: unknown;
  constructor(reason: unknown) {
    super('ended between two steps');
    this.reason = reason;
  }
}

/** Tells a failure that is one of this month alone. @throws every other: while the database is away nothing else would succeed either. */
const tell = (failure: RetentionFailure, onFailure: RetentionHooks['onFailure']): void => {
  if (onFailure === undefined || failure.error instanceof Ended || isDatabaseAway(failure.error)) throw failure.error;
  onFailure(failure);
};

const LOCK_NOT_AVAILABLE = '55P03';
/** Gives back the room of a month of which nothing is left; false where something is, or somebody is at work there: whoever is goes first, and the room is given back another day. */
const dropUnlessBusy = async (db: RetentionEngine['db'], month: string): Promise<boolean> => {
  try {
    return await dropEmptyMonth(db, month);
  } catch (error) {
    if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
};

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

/** Removes a group as far as `take` lets it. */
const removeGroup = async (engine: RetentionEngine, group: RetentionGroup, { finding, take }: { finding: RetentionFinding; take: (removed: number) => Promise<boolean> }): Promise<void> => {
  const { db, now } = engine;
  if (finding.notifications > 0) await summarizeEvents(db);
  while (finding.removed < finding.notifications && await take(finding.removed)) {
    const removed = await removeStep(engine, group);
    if (removed === 0) break;
    finding.removed += removed;
  }
  if (finding.removed >= finding.notifications) await markRetentionDone(db, group, now());
};

/**
 * Removes what is past its retention, a month of a purpose at a time and in steps, each with its signed tombstone; a month in which anything of
 * the purpose is still open or younger waits as a whole. A partition of which nothing is left is dropped. Again, or by several, is harmless.
 */
export const removePastRetention = async (engine: RetentionEngine, { steps = Number.POSITIVE_INFINITY, onStep = () => undefined, onFailure }: RetentionHooks = {}): Promise<RetentionFinding[]> => {
  const { db, now } = engine;
  const findings: RetentionFinding[] = [];
  let taken = 0;
  const take = async (removed: number): Promise<boolean> => {
    if (taken >= steps) return false;
    taken += 1;
    try {
      await onStep(removed);
    } catch (reason) {
      throw new Ended(reason);
    }
    return true;
  };
  try {
    for (const group of await retentionGroups(db, now())) {
      if (taken >= steps) break;
      const { month, purpose } = group;
      try {
        const { notifications, held } = await lookAtGroup(db, group, now());
        const finding = { month, purpose, notifications, held, removed: 0, dropped: false };
        if (notifications > 0) findings.push(finding);
        if (held === 0) await removeGroup(engine, group, { finding, take });
      } catch (error) {
        tell({ month, purpose, error }, onFailure);
      }
    }
    for (const month of await doneMonths(db)) {
      try {
        const dropped = await dropUnlessBusy(db, month);
        for (const finding of findings) if (finding.month === month) finding.dropped = dropped;
      } catch (error) {
        tell({ month, purpose: null, error }, onFailure);
      }
    }
  } catch (error) {
    throw error instanceof Ended ? error.reason : error;
  }
  return findings;
};

/** Erases what players wrote once its own retention is over, wherever the month as a whole is not removed yet; returns how many. */
export const eraseTicketsPastRetention = async ({ db, now }: RetentionEngine): Promise<number> => {
  let erased = 0;
  for (let some = TICKETS_EACH; some === TICKETS_EACH; erased += some) some = await eraseRetainedTickets(db, now(), TICKETS_EACH);
  return erased;
};
