import type { Channel } from '../domain/words.ts';
import type { Eligibility } from '../domain/eligibility.ts';
import type { SenderPrints } from '../ledger/rows.ts';
import { normaliseEmail, normalisePhone } from '../content/address.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import type { Policy } from '../domain/policy.ts';
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
  if (loaded.suppressed.some((entry) => bars(entry, channel, engine.senderPrints[channel]))) return 'suppressed';
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
}

/**
 * Suppresses a destination for every sender, by hand. From the moment this resolves no submission to it is started and no step
 * to it is claimed; a call that was already started goes on. False where it was suppressed already.
 */
export const suppressDestination = (engine: Engine, { tenant, channel, address, reason, actor }: SuppressRequest): Promise<boolean> =>
  engine.ledger.suppress({ tenant, channel, addressPrint: addressPrint(engine.ring, channel, address), senderPrint: null, reason, source: 'hand', at: engine.now(), actor });
