import type { Accepted, NewNotification } from './accept-group.ts';
import type { Appender } from './appender.ts';
import type { OutboxRow } from './claims.ts';
import type { PollClaim, PollLease } from './lease-polls.ts';
import type { Loaded, Loader } from './load.ts';
import type { Append, SealedBox } from './rows.ts';
import type { LostRaceRecord } from './lost-races.ts';
import type { NewSuppression } from './suppressions.ts';
import type { NewWithdrawal } from './consents.ts';
import type { ThrottleAt } from './throttles.ts';

/**
 * All that the use cases ask of a ledger. Postgres keeps it in production; the simulation keeps it in memory under the same
 * constraints, and one conformance suite holds both to it. Every call may reject because the ledger is away
 * (`isDatabaseAway`): what was asked may then have happened or not.
 */
export interface LedgerPort {
  /** One notification; null where there is none. */
  load: Loader;
  /** True where the append won, false where the version had moved on, or what it starts is barred by now: suppressed, its consent taken back, or throttled. */
  append: Appender;
  /** Whether an append that was left in doubt stands by now; null where its version is not there yet. */
  landed: (append: Append) => Promise<boolean | null>;
  accept: (one: NewNotification) => Promise<Accepted>;
  findByIdempotencyKey: (tenant: string, idempotencyKey: string) => Promise<{ eventId: string; requestFingerprint: Buffer } | null>;
  /** Suppresses a destination; false where it was suppressed already. Once it is answered, no submission to it is started. */
  suppress: (one: NewSuppression) => Promise<boolean>;
  /** Takes a consent back; false where it was already. Once it is answered, no submission that rests on it alone is started. */
  withdrawConsent: (one: NewWithdrawal) => Promise<boolean>;
  /** On which channels the recipient of a notification has had as many of its purpose as the throttles allow, `channel~`. */
  throttled: (eventId: string, throttles: readonly ThrottleAt[]) => Promise<readonly string[]>;
  /** The tenant of a notification; null where there is none. */
  tenantOf: (eventId: string) => Promise<string | null>;
  /** Where its origin system is asked, sealed; null where nothing is to be asked, or that was destroyed. */
  preconditionOf: (eventId: string) => Promise<SealedBox | null>;
  /** Notifications at which a decision is due at `now`, the longest overdue first. */
  loadDueDecisions: (now: number, limit: number) => Promise<Loaded[]>;
  /** Notifications with an attempt that waited for a provider that is back; and for each provider whose probe is due, a few that may make it. */
  loadWaiting: (now: number, limit: number) => Promise<Loaded[]>;
  /** Looks at these again later: they could not be decided on. */
  postponeDecisions: (eventIds: readonly string[], until: number) => Promise<void>;
  /** Takes due polls under a lease, no more than the providers' rates permit; a poll whose worker dies is due again after it. */
  leaseDuePolls: (lease: PollLease) => Promise<PollClaim[]>;
  /** The next instant at which a decision or a poll is due; null where nothing is. */
  nextDueAt: (now: number) => Promise<number | null>;
  /** Hands outbox rows over, but for those of the attempts `except`, and removes them once they are enqueued; returns how many were moved. */
  moveOutbox: (limit: number, enqueue: (rows: OutboxRow[]) => Promise<void>, except?: readonly string[]) => Promise<number>;
  /** Records a race that was lost and left its loser with nothing to append. */
  recordLostRace: (race: LostRaceRecord) => Promise<void>;
  /** Records that a duty has just finished. */
  beat: (duty: string, now: number) => Promise<void>;
  /** When a duty last finished, and the oldest instant at which a decision is due; null where there is none. */
  readPulse: (duty: string) => Promise<{ beatAt: number | null; decisionAt: number | null }>;
}
