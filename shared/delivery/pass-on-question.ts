import type { Decision } from '../domain/work.ts';
import type { Engine } from './engine.ts';

/** Hands the question of a decision that was just committed to whoever asks; nothing is held meanwhile, neither connection nor lock. */
export const passOnQuestion = (engine: Engine, { transitions, state }: Decision): void => {
  const asked = transitions.map(({ transition }) => transition).find((transition) => transition.kind === 'PreconditionAsked');
  const askedUntil = state.precondition?.askedUntil ?? null;
  if (asked !== undefined && askedUntil !== null) engine.onAsked({ eventId: state.eventId, askedUntil, wanted: asked.details.wanted });
};
