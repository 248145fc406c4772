import type { ExplainedEntry } from './explain.ts';
import { attemptName, instant } from './explain-words.ts';
import type { NotificationState } from './state.ts';
import type { AttemptKey } from './words.ts';
import { parseAttemptKey } from './words.ts';

const channelOf = (key: AttemptKey): string | undefined => parseAttemptKey(key)?.channel;

/** What resolved it, as `dead-letters.ts` has it; null where that entry does not. */
const resolution = ({ kind, details }: ExplainedEntry, key: AttemptKey, strategy: NotificationState['strategy']): string | null => {
  switch (kind) {
    case 'OperatorRetried': return details['attempt'] === key ? 'an operator retried it' : null;
    // Where all channels are used, what one delivers leaves the others to be done.
    case 'AttemptDelivered': return strategy === 'all' && channelOf(String(details['attempt'])) !== channelOf(key) ? null : `${attemptName(String(details['attempt']))} was confirmed *delivered*`;
    case 'NotificationClosed': return 'the notification was closed';
    case 'NotificationExpired': return 'the notification expired';
    case 'PayloadDestroyed': return details['erasure'] ? 'a person was erased' : null;
    default: return null;
  }
};

/** Until when it waited for an operator, and what ended that: `until …, when the notification was closed`; null where it still waits. `later` are the entries after it stopped. */
export const resolvedBy = (key: AttemptKey, later: readonly ExplainedEntry[], strategy: NotificationState['strategy']): string | null => {
  const by = later.find((entry) => resolution(entry, key, strategy) !== null);
  return by ? `until ${instant(by.at)}, when ${resolution(by, key, strategy) ?? ''}` : null;
};
