import type { Channel } from '../domain/words.ts';
import type { Engine } from './engine.ts';
import { addressPrint } from './suppression.ts';

/** Why a consent is taken back, or given again: a closed list, since the row is kept in clear text. */
export const CONSENT_REASONS: readonly string[] = ['requested', 'objection', 'contract_ended', 'duty_ended', 'wrong_person', 'renewed', 'mistake', 'legal', 'test', 'other'];

/** How a basis is written, as in a policy. */
export const isBasis = (text: string): boolean => /^[a-z][a-z0-9_]{0,39}$/.test(text);

export interface WithdrawRequest {
  tenant: string; channel: Channel;
  /** Normalised. */
  address: string;
  /** The one that is taken back; null for every one. */
  basis: string | null;
  /** One of `CONSENT_REASONS`. */
  reason: string;
  actor: string;
}

/**
 * Takes a consent, or another basis, back for a destination. From the moment this resolves no submission is started and no step is claimed that
 * has no other basis left; a call that was already started goes on. False where it was taken back already.
 */
export const withdrawConsent = (engine: Engine, { tenant, channel, address, basis, reason, actor }: WithdrawRequest): Promise<boolean> =>
  engine.ledger.withdrawConsent({ tenant, channel, addressPrint: addressPrint(engine.ring, channel, address), basis: basis ?? '', reason, at: engine.now(), actor });
