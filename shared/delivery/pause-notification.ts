import type { PublicStatus } from '../domain/words.ts';
import { canPause } from '../domain/pause.ts';
import type { NotificationState } from '../domain/state.ts';
import { publicStatus } from '../domain/status.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { bookReason } from './operator-reason.ts';

export interface PauseRequest {
  /** Null for an operator of the whole deployment. */
  tenant: string | null;
  eventId: string;
  /** A code (`maintenance`, `wrong_person`, …), or a sentence: that one is sealed and booked as `other`. */
  reason: string;
  actor: string;
  requestId: string;
}

export type PauseOutcome =
  | { kind: 'not_found' }
  | { kind: 'paused'; status: PublicStatus; reason: string; pausedAt: number; inFlight: boolean; replayed: boolean }
  /** Closed, settled or never started: there is nothing to hold. */
  | { kind: 'not_open'; status: PublicStatus };

export type ResumeOutcome =
  | { kind: 'not_found' }
  | { kind: 'resumed'; status: PublicStatus; replayed: boolean }
  | { kind: 'not_open'; status: PublicStatus };

interface Moved { before: NotificationState; after: NotificationState }

const move = async (engine: Engine, request: PauseRequest, command: { kind: 'pause' } | { kind: 'resume'; leaveRest: boolean }): Promise<Moved | null> => {
  if (request.tenant !== null && (await engine.ledger.tenantOf(request.eventId)) !== request.tenant) return null;
  const reason = bookReason(engine, { ...request, kind: command.kind === 'pause' ? 'NotificationPaused' : 'NotificationResumed' });
  const result = await decideAndAppend(engine, request.eventId, {
    provenance: { actor: request.actor, requestId: request.requestId },
    command: () => ({ ...command, reason: reason.code }),
    enrich: reason.enrich,
  });
  if (result.kind === 'not_found') return null;
  return result.kind === 'appended' ? { before: result.before, after: result.decision.state } : { before: result.state, after: result.state };
};

/**
 * Pauses a notification: nothing is queued, claimed or started until it is resumed, while polls and expiry go on. Idempotent:
 * the first reason stands. A call under way at that instant is reported as `inFlight`.
 */
export const pauseNotification = async (engine: Engine, request: PauseRequest): Promise<PauseOutcome> => {
  const moved = await move(engine, request, { kind: 'pause' });
  if (!moved) return { kind: 'not_found' };
  const { before, after } = moved;
  if (!after.paused) return { kind: 'not_open', status: publicStatus(after) };
  return {
    kind: 'paused', status: publicStatus(after), reason: after.paused.reason, pausedAt: after.paused.at,
    inFlight: after.attempts.some((attempt) => attempt.state === 'submitting'), replayed: Boolean(before.paused),
  };
};

export interface ResumeRequest extends PauseRequest {
  /** What fell due meanwhile is left to the coordinator: for who does not know the deployment's senders and carriers. */
  leaveRest?: boolean;
}

/** Resumes a paused notification; what fell due meanwhile is decided in the same append. Idempotent: one that is not paused goes on. */
export const resumeNotification = async (engine: Engine, request: ResumeRequest): Promise<ResumeOutcome> => {
  const moved = await move(engine, request, { kind: 'resume', leaveRest: request.leaveRest ?? false });
  if (!moved) return { kind: 'not_found' };
  const { before, after } = moved;
  if (!before.paused && !canPause(before)) return { kind: 'not_open', status: publicStatus(after) };
  return { kind: 'resumed', status: publicStatus(after), replayed: !before.paused };
};
