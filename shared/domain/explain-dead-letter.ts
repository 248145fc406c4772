import type { ExplainedEntry } from './explain.ts';
import { attemptName, instant } from './explain-words.ts';
import type { NotificationState } from './state.ts';
import type { AttemptKey, Instant } from './words.ts';
import { parseAttemptKey } from './words.ts';
import type { Resolution } from './work.ts';

/** How a dead letter ended, as its row has it: a discard, and an expiry after everything had settled, are entries of no ledger. */
export interface LetterEnd { attempt: string; at: Instant; as: Resolution }

const ENDS: Record<Resolution, string> = {
  retried: 'an operator retried it', discarded: 'an operator discarded it', delivered: 'the message was confirmed *delivered*', closed: 'the notification was closed',
  expired: 'the notification expired', payload_destroyed: 'its content was destroyed', erased: 'a person was erased',
};

const channelOf = (key: AttemptKey): string | undefined => parseAttemptKey(key)?.channel;

/** What resolved it, as `dead-letters.ts` has it; null where that entry does not. */
const resolution = ({ kind, details }: ExplainedEntry, key: AttemptKey, strategy: NotificationState['strategy']): string | null => {
  switch (kind) {
    case 'OperatorRetried': return details['attempt'] === key ? ENDS.retried : null;
    // Where all channels are used, what one delivers leaves the others to be done.
    case 'AttemptDelivered': return strategy === 'all' && channelOf(String(details['attempt'])) !== channelOf(key) ? null : `${attemptName(String(details['attempt']))} was confirmed *delivered*`;
    case 'NotificationClosed': return ENDS.closed;
    case 'NotificationExpired': return ENDS.expired;
    case 'PayloadDestroyed': return details['erasure'] ? ENDS.erased : null;
    default: return null;
  }
};

/** One that stopped, with what came after it: the later entries, and how dead letters ended by their rows. */
export interface Stopped { key: AttemptKey; at: Instant; later: readonly ExplainedEntry[]; ends: readonly LetterEnd[]; strategy: NotificationState['strategy'] }

/** Until when it waited for an operator, and what ended that: `until …, when the notification was closed`; null where it still waits. */
export const resolvedBy = ({ key, at, later, ends, strategy }: Stopped): string | null => {
  const entry = later.find((one) => resolution(one, key, strategy) !== null);
  const end = ends.find((one) => one.attempt === key && one.at >= at);
  // What an entry says is told by it, unless the row had ended before.
  if (end && (!entry || end.at < entry.at)) return `until ${instant(end.at)}, when ${ENDS[end.as]}`;
  return entry ? `until ${instant(entry.at)}, when ${resolution(entry, key, strategy) ?? ''}` : null;
};
