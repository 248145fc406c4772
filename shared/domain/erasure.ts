import type { ErasedPerson, PayloadPart } from './words.ts';
import type { NotificationState } from './state.ts';
import { close } from './lifecycle.ts';
import { canPause } from './pause.ts';
import type { Work } from './work.ts';

/** Whom to erase and why (a code); `close`: also where it may still be sent, which is closed by it. */
export interface Erasure { of: ErasedPerson; reason: string; close: boolean }

/** What holds something of each: the addresses are the recipient's, and stay where the player goes. */
const PARTS: Readonly<Record<ErasedPerson, readonly PayloadPart[]>> = {
  recipient: ['secrets', 'variables', 'addresses', 'precondition'],
  player: ['secrets', 'variables', 'precondition'],
};

/** What is left to destroy. Where the acceptance named no parts, nobody knows which there are: all are named. */
const partsLeft = (state: NotificationState, of: ErasedPerson): PayloadPart[] => PARTS[of].filter((part) =>
  (state.payload ? state.payload.parts.includes(part) && state.payload.destroyed[part] === undefined : state.erased?.[of] === undefined));

/**
 * Erases a person: destroys all parts that tell of him, whatever their terms, as an entry that says so. Again changes nothing. Nothing is
 * destroyed as long as a submission is possible: the workflow is closed first, or left alone.
 */
export const erase = (work: Work, { of, reason, close: closing }: Erasure): void => {
  // Something may still be sent, which has to be closed before its payload can go.
  const isInTheWay = canPause(work.state);
  if (work.state.version === 0 || (isInTheWay && !closing)) return;
  if (isInTheWay) close(work, 'erased');
  const parts = partsLeft(work.state, of);
  if (parts.length === 0 && work.state.erased?.[of] !== undefined) return;
  work.emit({ kind: 'PayloadDestroyed', details: { parts, erasure: { of, reason } } });
};
