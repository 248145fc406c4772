import type { Decision } from '../domain/work.ts';
import type { Engine } from './engine.ts';

/** Hands the question of a decision that was just committed to whoever asks; nothing is held meanwhile, neither connection nor lock. */
export const passOnQuestion = (engine: Engine, { transitions, state }: Decision): void => {
  const askedUntil = state.precondition?.askedUntil ?? null;
  if (askedUntil === null) return;
  for (const { transition } of transitions) {
    if (transition.kind === 'PreconditionAsked') return engine.onAsked({ eventId: state.eventId, askedUntil, wanted: transition.details.wanted });
  }
};
