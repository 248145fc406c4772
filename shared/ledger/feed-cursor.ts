import type { KeyRing } from '../security/key-ring.ts';
import { readSignedText, signText } from '../security/fingerprint.ts';
import type { FeedPlace } from './feed.ts';

/** Where a reader of the feed stands. */
export interface FeedCursor {
  place: FeedPlace;
  /** The database that answered; only it, and what is restored from its backups, can go on from here. */
  issuer: string;
  /** The greatest `changed_at` so far, in milliseconds since the epoch. */
  changedAt: number;
}

const PURPOSE = 'feed-cursor';
const FORMAT = 1;

/** A cursor as text: signed and bound to the tenant. Signed with the oldest key, so that a new key invalidates none. */
export const writeFeedCursor = (ring: KeyRing, tenant: string, { place, issuer, changedAt }: FeedCursor): string =>
  signText(ring, PURPOSE, JSON.stringify([FORMAT, tenant, place.epoch, place.xid, place.position, issuer, changedAt]));

/** Reads what `writeFeedCursor` wrote for the same tenant; null for anything else. */
export const readFeedCursor = (ring: KeyRing, tenant: string, text: string): FeedCursor | null => {
  const signed = readSignedText(ring, PURPOSE, text);
  if (signed === null) return null;
  const [format, owner, epoch, xid, position, issuer, changedAt] = JSON.parse(signed) as [number, string, number, string, string, string, number];
  return format === FORMAT && owner === tenant ? { place: { epoch, xid, position }, issuer, changedAt } : null;
};
