import type { RawAnswer } from '../domain/provider-answers.ts';
import { withObservation } from '../ledger/rows.ts';
import type { Append } from '../ledger/rows.ts';
import { seal } from '../security/sealing.ts';
import type { Engine } from './engine.ts';

/**
 * Keeps the provider's own words beside the entry they led to: sealed, since they may quote an address or a text. Where there are
 * secrets only status and code are kept: an answer may quote the whole message, and would outlive what is destroyed with them.
 */
export const sealRaw = (engine: Engine, eventId: string, raw: RawAnswer | undefined) => (append: Append): Append => {
  // What is heard of somebody who was erased is booked by its outcome alone.
  if (raw === undefined || append.after.erased !== undefined) return append;
  return withObservation(append, seal(engine.ring, JSON.stringify(append.after.payload?.parts.includes('secrets') ? { ...raw, text: undefined } : raw), `${eventId}/observation`));
};
