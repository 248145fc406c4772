import { encodeTime } from 'ulid';
import type { EventId } from '../domain/words.ts';
import { takeRandom } from '../security/random-bytes.ts';

const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A new event id: `evt_` and a ULID, whose 80 random bits come from the system. A byte gives five of them, so that each character is as likely as any other. */
export const mintEventId = (now: number): EventId => {
  let text = `evt_${encodeTime(now, TIME_CHARS)}`;
  for (const byte of takeRandom(RANDOM_CHARS)) text += CROCKFORD.charAt(byte & 31);
  return text;
};
