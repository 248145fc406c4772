import type { TransitionKind } from '../domain/transitions.ts';
import { withObservation } from '../ledger/rows.ts';
import type { Append } from '../ledger/rows.ts';
import { openText, seal } from '../security/sealing.ts';
import type { Sealed } from '../security/sealing.ts';
import type { Engine } from './engine.ts';

/** The reasons for holding, resuming or retrying that the ledger names in clear text; whatever else is the caller's own text. */
const OPERATOR_CODES: ReadonlySet<string> = new Set(['maintenance', 'incident', 'wrong_person', 'wrong_text', 'provider_trouble', 'duplicate', 'over', 'checked', 'requested', 'done', 'other']);

/** The code under which a person's reason is booked. */
export const reasonCodeOf = (reason: string): string => (OPERATOR_CODES.has(reason) ? reason : 'other');

/** A person's reason as the ledger may keep it: a code stands there, a sentence is booked as `other` and sealed. */
export const sealReason = ({ ring }: Pick<Engine, 'ring'>, eventId: string, reason: string): { code: string; sealed: Sealed | null } =>
  (OPERATOR_CODES.has(reason) ? { code: reason, sealed: null } : { code: 'other', sealed: seal(ring, JSON.stringify({ operator: reason }), `${eventId}/observation`) });

/** The reason as it was given, from how `sealReason` left it. @throws SealError where it does not open. */
export const openReason = ({ ring }: Pick<Engine, 'ring'>, eventId: string, kept: { reason: string; keyId: string | null; box: Uint8Array | null }): string => {
  if (kept.keyId === null || kept.box === null) return kept.reason;
  return (JSON.parse(openText(ring, { keyId: kept.keyId, box: kept.box }, `${eventId}/observation`)) as { operator: string }).operator;
};

/** A booked reason, and the append that keeps its text. */
export interface BookedReason { code: string; enrich: (append: Append) => Append }

/**
 * Books the reason of an entry of that kind; an append without one keeps no text. It lies beside the entry and not in the
 * payload, which holds one text only, and these may be many.
 */
export const bookReason = (engine: Engine, { eventId, reason, kind }: { eventId: string; reason: string; kind: TransitionKind }): BookedReason => {
  const { code, sealed } = sealReason(engine, eventId, reason);
  return { code, enrich: (append) => (sealed !== null && append.rows.entries.some((entry) => entry['kind'] === kind) ? withObservation(append, sealed) : append) };
};
