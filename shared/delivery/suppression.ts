import type { Channel } from '../domain/words.ts';
import type { Policy } from '../domain/policy.ts';
import type { Eligibility } from '../domain/eligibility.ts';
import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import type { SenderPrints } from '../ledger/rows.ts';
import type { NewSuppression } from '../ledger/suppressions.ts';
import { insertSuppression, removeSuppressions } from '../ledger/suppressions.ts';
import { inTransaction } from '../ledger/transaction.ts';
import { normaliseEmail, normalisePhone } from '../content/address.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import type { SealedBox } from '../ledger/rows.ts';
import type { ThrottleAt } from '../ledger/throttles.ts';
import type { Engine } from './engine.ts';
import type { Addresses } from './payload.ts';
import { openPart } from './payload.ts';

/**
 * The print by which a destination is found; the same as the recipient's row has. The address must be normalised. Case is left out: mail
 * goes to the local part as it was given, but whoever wants no mail means it however his address is written.
 */
export const addressPrint = (ring: KeyRing, channel: Channel, address: string): Buffer => fingerprint(ring, channel, address.toLowerCase());

/** A sender by its address alone, so that another display name is no other sender: `Tocsin <a@example.com>` is `a@example.com`. */
const senderAddress = (sender: string): string => (/<([^<>]+)>\s*$/.exec(sender)?.[1] ?? sender).trim().toLowerCase();

/** The prints of a deployment's senders, in hex; null for one that is not known. */
export const senderPrints = (ring: KeyRing, sender: Record<Channel, string>): SenderPrints => {
  const print = (channel: Channel): string | null => (sender[channel] === '' ? null : fingerprint(ring, `sender/${channel}`, senderAddress(sender[channel])).toString('hex'));
  return { sms: print('sms'), email: print('email') };
};

/** The print of our sender of mail as the sender of what is not transactional; null where it is not known. */
export const mailingPrint = (ring: KeyRing, { email }: Record<Channel, string>): string | null =>
  (email === '' ? null : fingerprint(ring, 'sender/mailing', senderAddress(email)).toString('hex'));

/**
 * An engine's senders as they count for notifications of a policy: whoever unsubscribed wants no more mail that is not transactional, and
 * still gets his new password.
 */
export const sendersFor = ({ senderPrints: prints, mailingPrint: mailing, ring }: Pick<Engine, 'senderPrints' | 'mailingPrint' | 'ring'>, { classification }: Pick<Policy, 'classification'>): Pick<Engine, 'senderPrints' | 'ring'> =>
  ({ ring, senderPrints: classification === 'transactional' ? prints : { ...prints, mailing } });

/** Whether one of what was loaded as `channel:sender` bars a channel for our sender; an unknown one counts as every sender. */
const bars = (entry: string, channel: Channel, ours: string | null): boolean =>
  entry === `${channel}:` || (entry.startsWith(`${channel}:`) && (ours === null || entry === `${channel}:${ours}`));

/** What a channel rests on: the bases that the recipient has given and the policy accepts. Null where that is not known (any more). */
export type BasesOf = (channel: Channel) => readonly string[] | null;

const sealedBases = ({ ring }: Pick<Engine, 'ring'>, { eventId, recipient }: { eventId: string; recipient: SealedBox | null }): BasesOf => (channel) =>
  (recipient === null ? null : openPart<Addresses>(ring, eventId, 'recipient', recipient).bases?.[channel] ?? null);

/** Whether nothing is left of what a channel rests on; what is not known counts as taken back. */
const isWithdrawn = (entries: readonly string[], channel: Channel, basesOf: BasesOf): boolean => {
  const taken = entries.filter((entry) => entry.startsWith(`${channel}!`)).map((entry) => entry.slice(channel.length + 1));
  return taken.length > 0 && (taken.includes('') || (basesOf(channel) ?? []).every((basis) => taken.includes(basis)));
};

interface Barring { eventId: string; recipient: SealedBox | null; suppressed: readonly string[] }

/** What bars a channel, from what was loaded together with the state; `bases` where they need not be looked up in the sealed recipient. */
export const eligibilityOf = (engine: Pick<Engine, 'senderPrints' | 'ring'>, loaded: Barring, bases: BasesOf = sealedBases(engine, loaded)): Eligibility => (channel, begun) => {
  if (loaded.suppressed.length === 0) return null;
  if (loaded.suppressed.some((entry) => bars(entry, channel, engine.senderPrints[channel]) || (channel === 'email' && entry === `email:${engine.senderPrints.mailing ?? ''}`))) return 'suppressed';
  if (isWithdrawn(loaded.suppressed, channel, bases)) return 'consent_withdrawn';
  return begun !== true && loaded.suppressed.includes(`${channel}~`) ? 'throttled' : null;
};

/** What the steps of a policy are throttled by at an instant. */
export const throttlesAt = (policy: Policy, now: number): ThrottleAt[] =>
  policy.steps.flatMap(({ channel, throttle }) => (throttle ? [{ channel, most: throttle.most, sinceAt: now - throttle.withinMs }] : []));

/** An address of that channel in the one form that is stored and compared; null where it is none. */
export const normaliseAddress = (channel: Channel, text: string): string | null => (channel === 'sms' ? normalisePhone(text) : normaliseEmail(text));

/** Why a destination is suppressed by hand, or allowed again: a closed list, since the row is kept in clear text. */
export const SUPPRESSION_REASONS: readonly string[] = ['requested', 'complaint', 'wrong_person', 'not_in_use', 'legal', 'resubscribed', 'mistake', 'test', 'other'];

export interface SuppressRequest {
  tenant: string; channel: Channel;
  /** Normalised. */
  address: string;
  /** One of `SUPPRESSION_REASONS`. */
  reason: string;
  actor: string;
  /** Who does it, for the trail. */
  audit?: AuditActor;
}

/**
 * Suppresses a destination for every sender, by hand. From the moment this resolves no submission to it is started and no step
 * to it is claimed; a call that was already started goes on. False where it was suppressed already.
 */
export const suppressDestination = async (engine: Engine, { tenant, channel, address, reason, actor, audit }: SuppressRequest): Promise<boolean> => {
  const print = addressPrint(engine.ring, channel, address);
  const one: NewSuppression = { tenant, channel, addressPrint: print, senderPrint: null, reason, source: 'hand', at: engine.now(), actor };
  if (audit === undefined) return engine.ledger.suppress(one);
  return inTransaction(engine.db, async (tx) => {
    const added = await insertSuppression(tx, one);
    await insertAudit(tx, audit, [{ action: 'suppression.add', target: targetOf(tenant, channel, print), result: added ? 'done' : 'unchanged', reason }], engine.now());
    return added;
  });
};

/** A destination as the trail names it: by the beginning of its print, as lists show it. */
export const targetOf = (tenant: string, channel: Channel, print: Uint8Array): string => `${tenant}/${channel}/${Buffer.from(print).toString('hex').slice(0, 12)}`;

/** Takes back every suppression of a destination, whatever sender it is for; returns how many held. */
export const allowDestination = async (engine: Engine, { tenant, channel, address, reason, actor, audit }: SuppressRequest & { audit: AuditActor }): Promise<number> => {
  const print = addressPrint(engine.ring, channel, address);
  return inTransaction(engine.db, async (tx) => {
    const removed = await removeSuppressions(tx, { tenant, channel, addressPrint: print }, { at: engine.now(), actor, reason });
    await insertAudit(tx, audit, [{ action: 'suppression.remove', target: targetOf(tenant, channel, print), result: removed > 0 ? 'done' : 'unchanged', reason }], engine.now());
    return removed;
  });
};
