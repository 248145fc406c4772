import type { AttemptStateName } from '../../shared/domain/words.ts';

/** What became of a message on a channel, coarse enough that two systems can mean the same. */
export const OLD_OUTCOMES = ['delivered', 'sent', 'undelivered', 'not_sent', 'unknown', 'pending'] as const;
export type OldOutcome = (typeof OLD_OUTCOMES)[number];
/** `would_send`: it ran in shadow up to the call. */
export type OurOutcome = OldOutcome | 'would_send';

/** Words of other systems, and what they mean; --map adds to them. */
const WORDS: Readonly<Record<OldOutcome, readonly string[]>> = {
  delivered: ['delivered', 'read', 'opened', 'clicked'],
  sent: ['sent', 'accepted', 'submitted', 'dispatched'],
  undelivered: ['undelivered', 'failed', 'rejected', 'bounced', 'error'],
  not_sent: ['not_sent', 'skipped', 'suppressed', 'opted_out', 'blocked', 'cancelled', 'canceled', 'expired'],
  unknown: ['unknown', 'submitted_unknown', 'timeout'],
  pending: ['pending', 'queued', 'scheduled', 'in_progress'],
};

/** The words that are understood, in lower case. */
export const outcomeWords = (added: readonly [string, OldOutcome][] = []): Map<string, OldOutcome> => new Map([
  ...OLD_OUTCOMES.flatMap((outcome) => WORDS[outcome].map((word): [string, OldOutcome] => [word, outcome])), ...added,
]);

/** The ledger's states in the same words. */
const OURS: Readonly<Record<AttemptStateName, OurOutcome>> = {
  planned: 'pending', queued: 'pending', submitting: 'pending', submitted: 'sent', submitted_unknown: 'unknown', delivered: 'delivered', undelivered: 'undelivered', rejected: 'undelivered',
  suppressed: 'not_sent', render_failed: 'not_sent', dead_lettered: 'not_sent', expired: 'not_sent', cancelled: 'not_sent', shadowed: 'would_send',
};

/** What the ledger says of a channel; null where nothing was planned on it. */
export const ourOutcome = (state: AttemptStateName | null): OurOutcome => (state === null ? 'not_sent' : OURS[state]);

/** Whether both say the same. A shadow agrees with whatever an old system handed to its provider. */
export const agree = (old: OldOutcome, ours: OurOutcome): boolean => (ours === 'would_send' ? old !== 'not_sent' : old === ours);
