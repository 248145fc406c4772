import type { Channel } from '../domain/words.ts';
import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import { insertWithdrawal, restoreConsents } from '../ledger/consents.ts';
import { inTransaction } from '../ledger/transaction.ts';
import type { Engine } from './engine.ts';
import { addressPrint, targetOf } from './suppression.ts';

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
  /** Who does it, for the trail. */
  audit?: AuditActor;
}

/**
 * Takes a consent, or another basis, back for a destination. From the moment this resolves no submission is started and no step is claimed that
 * has no other basis left; a call that was already started goes on. False where it was taken back already.
 */
export const withdrawConsent = async (engine: Engine, { tenant, channel, address, basis, reason, actor, audit }: WithdrawRequest): Promise<boolean> => {
  const print = addressPrint(engine.ring, channel, address);
  const one = { tenant, channel, addressPrint: print, basis: basis ?? '', reason, at: engine.now(), actor };
  if (audit === undefined) return engine.ledger.withdrawConsent(one);
  return inTransaction(engine.db, async (tx) => {
    const withdrawn = await insertWithdrawal(tx, one);
    await insertAudit(tx, audit, [{ action: 'consent.withdraw', target: targetOf(tenant, channel, print), result: withdrawn ? 'done' : 'unchanged', reason }], one.at);
    return withdrawn;
  });
};

/** Gives a consent again that was taken back, or with `basis` null every one of that destination; returns how many. */
export const giveConsentAgain = async (engine: Engine, { tenant, channel, address, basis, reason, actor, audit }: WithdrawRequest & { audit: AuditActor }): Promise<number> => {
  const print = addressPrint(engine.ring, channel, address);
  const at = engine.now();
  return inTransaction(engine.db, async (tx) => {
    const restored = await restoreConsents(tx, { tenant, channel, addressPrint: print, basis: basis ?? undefined }, { at, actor, reason });
    await insertAudit(tx, audit, [{ action: 'consent.restore', target: targetOf(tenant, channel, print), result: restored > 0 ? 'done' : 'unchanged', reason }], at);
    return restored;
  });
};
