import type { RawAnswer } from '../domain/provider-answers.ts';
import { withObservation } from '../ledger/rows.ts';
import type { Append } from '../ledger/rows.ts';
import { seal } from '../security/sealing.ts';
import type { Engine } from './engine.ts';

/** Keeps the provider's own words beside the entry they led to: sealed, since they may quote an address or a text. */
export const sealRaw = (engine: Engine, eventId: string, raw: RawAnswer | undefined) => (append: Append): Append =>
  (raw === undefined ? append : withObservation(append, seal(engine.ring, JSON.stringify(raw), `${eventId}/observation`)));
