import { permittedActions, REFUSALS } from '../../shared/domain/permitted.ts';
import type { ActionRefusal, Permitted } from '../../shared/domain/permitted.ts';
import type { AttemptKey } from '../../shared/domain/words.ts';
import type { ShownNotification } from './notification-view.ts';

/** Why something cannot be done here: what the ledger says, or that an operator took its dead letter off the list, which is no entry of it. */
export type OfferRefusal = ActionRefusal | 'discarded';
export type Offered = Omit<Permitted, 'refusal'> & { refusal: OfferRefusal | null };

export const OFFER_REFUSALS: Readonly<Record<OfferRefusal, string>> = { ...REFUSALS, discarded: 'an operator discarded its dead letter' };

type Letters = Pick<ShownNotification, 'deadLetters' | 'letterEnds'>;

const wasDiscarded = ({ deadLetters, letterEnds }: Letters, key: AttemptKey | null): boolean =>
  letterEnds.findLast(({ attempt }) => attempt === key)?.as === 'discarded' && !deadLetters.some(({ attempt, discarded }) => attempt === key && discarded === null);

/**
 * What may be done to a notification from its page. An attempt whose dead letter was discarded is not retried, no more than from the list and the
 * command line. What its ledger refuses is told first: that stands whatever becomes of a dead letter.
 */
export const offeredActions = (shown: Letters & Pick<ShownNotification, 'state' | 'now'>): Offered[] => permittedActions(shown.state, shown.now).map((one): Offered =>
  (one.action === 'retry' && one.refusal === null && wasDiscarded(shown, one.attempt) ? { ...one, refusal: 'discarded' } : one));
