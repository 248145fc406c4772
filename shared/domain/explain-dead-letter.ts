import type { AttemptKey } from './words.ts';
import type { ExplainedEntry } from './explain.ts';
import { attemptName, instant } from './explain-words.ts';

/** What resolved it, as `dead-letters.ts` has it; null where that entry does not. */
const resolution = ({ kind, details }: ExplainedEntry, key: AttemptKey): string | null => {
  switch (kind) {
    case 'OperatorRetried': return details['attempt'] === key ? 'an operator retried it' : null;
    case 'AttemptDelivered': return `${attemptName(String(details['attempt']))} was confirmed *delivered*`;
    case 'NotificationClosed': return 'the notification was closed';
    case 'NotificationExpired': return 'the notification expired';
    case 'PayloadDestroyed': return details['erasure'] ? 'a person was erased' : null;
    default: return null;
  }
};

/** Until when it waited for an operator, and what ended that: `until …, when the notification was closed`; null where it still waits. `later` are the entries after it stopped. */
export const resolvedBy = (key: AttemptKey, later: readonly ExplainedEntry[]): string | null => {
  const by = later.find((entry) => resolution(entry, key) !== null);
  return by ? `until ${instant(by.at)}, when ${resolution(by, key) ?? ''}` : null;
};
