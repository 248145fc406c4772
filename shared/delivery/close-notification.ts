import type { PublicStatus } from '../domain/words.ts';
import { publicStatus } from '../domain/status.ts';
import { withPayload } from '../ledger/rows.ts';
import type { Engine } from './engine.ts';
import { decideAndAppend } from './decide-and-append.ts';
import { sealPart } from './payload.ts';

export interface CloseRequest {
  /** Null for an operator of the whole deployment. */
  tenant: string | null;
  eventId: string;
  /** One of `CLOSE_CODES`; anything else is a text, which is sealed and booked as `other`. */
  reason: string;
  actor: string;
  requestId: string;
}

export type CloseOutcome =
  | { kind: 'not_found' }
  | { kind: 'closed'; status: PublicStatus; reason: string; closedAt: number; inFlight: boolean; replayed: boolean }
  /** Nothing to close: the region was not covered, so nothing was ever started. */
  | { kind: 'not_open'; status: PublicStatus };

/** The reasons that the ledger names in clear text. A closed list: whatever else is shaped like a code is still the caller's own text. */
export const CLOSE_CODES: ReadonlySet<string> = new Set(['consumed', 'accepted', 'taken', 'completed', 'resolved', 'cancelled', 'duplicate', 'other']);

/** Closes a notification: nothing is submitted any more. Idempotent: the first reason stands. */
export const closeNotification = async (engine: Engine, request: CloseRequest): Promise<CloseOutcome> => {
  if (request.tenant !== null && (await engine.ledger.tenantOf(request.eventId)) !== request.tenant) return { kind: 'not_found' };
  const isCode = CLOSE_CODES.has(request.reason);
  const reason = isCode ? request.reason : 'other';
  const result = await decideAndAppend(engine, request.eventId, {
    provenance: { actor: request.actor, requestId: request.requestId },
    command: () => ({ kind: 'close', reason }),
    enrich: (append) => (isCode ? append : withPayload(append, 'operator_text', sealPart(engine.ring, request.eventId, 'operator_text', { close: request.reason }))),
  });
  if (result.kind === 'not_found') return result;
  const state = result.kind === 'appended' ? result.decision.state : result.state;
  if (!state.closed) return { kind: 'not_open', status: publicStatus(state) };
  const replayed = result.kind === 'unchanged' || result.before.closed !== null;
  return {
    kind: 'closed', status: publicStatus(state), reason: state.closed.reason, closedAt: state.closed.at,
    inFlight: state.attempts.some((attempt) => attempt.state === 'submitting'), replayed,
  };
};
