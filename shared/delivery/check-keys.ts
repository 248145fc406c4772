import type { Database } from '../ledger/database.ts';
import { newestSealed } from '../ledger/reads.ts';
import type { KeyRing } from '../security/key-ring.ts';
import { openPart } from './payload.ts';

/** The key ring does not open what the database holds: going on would seal with a key that the rest does not share. */
export class WrongKeysError extends Error {
  override readonly name = 'WrongKeysError';
}

/** Tries the key ring on the newest box there is. @throws WrongKeysError where it does not open. */
export const refuseWrongKeys = async (db: Database, ring: KeyRing): Promise<void> => {
  const sealed = await newestSealed(db);
  if (!sealed) return;
  try {
    openPart(ring, sealed.eventId, 'recipient', sealed);
  } catch {
    throw new WrongKeysError(`TOCSIN_KEYS does not open what this database holds (sealed with key ${sealed.keyId}): give it the key ring that the data was sealed with`);
  }
};
