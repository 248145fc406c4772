import type { TransitionKind } from '../domain/transitions.ts';
import { withObservation } from '../ledger/rows.ts';
import type { Append } from '../ledger/rows.ts';
import { seal } from '../security/sealing.ts';
import type { Engine } from './engine.ts';

/** The reasons for holding, resuming or retrying that the ledger names in clear text; whatever else is the caller's own text. */
const OPERATOR_CODES: ReadonlySet<string> = new Set(['maintenance', 'incident', 'wrong_person', 'wrong_text', 'provider_trouble', 'duplicate', 'over', 'checked', 'requested', 'other']);

/** A person's reason as the ledger may keep it: a code stands there, a sentence is booked as `other` and sealed beside its entry. */
export interface BookedReason { code: string; enrich: (append: Append) => Append }

/**
 * Books the reason of an entry of that kind; an append without one keeps no text. It lies beside the entry and not in the
 * payload, which holds one text only, and these may be many.
 */
export const bookReason = (engine: Engine, { eventId, reason, kind }: { eventId: string; reason: string; kind: TransitionKind }): BookedReason => {
  if (OPERATOR_CODES.has(reason)) return { code: reason, enrich: (append) => append };
  const sealed = seal(engine.ring, JSON.stringify({ operator: reason }), `${eventId}/observation`);
  return { code: 'other', enrich: (append) => (append.rows.entries.some((entry) => entry['kind'] === kind) ? withObservation(append, sealed) : append) };
};
