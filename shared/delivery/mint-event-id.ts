import { randomBytes } from 'node:crypto';
import { encodeTime } from 'ulid';
import type { EventId } from '../domain/words.ts';

const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Random bytes drawn ahead: one call for some hundred ids costs what one for a single character does. None is given out twice. */
const DRAWN_BYTES = 4_096;
let drawn = Buffer.alloc(0);
let taken = 0;

/** A new event id: `evt_` and a ULID, whose 80 random bits come from the system. A byte gives five of them, so that each character is as likely as any other. */
export const mintEventId = (now: number): EventId => {
  if (taken + RANDOM_CHARS > drawn.length) {
    drawn = randomBytes(DRAWN_BYTES);
    taken = 0;
  }
  let text = `evt_${encodeTime(now, TIME_CHARS)}`;
  for (let index = 0; index < RANDOM_CHARS; index += 1) text += CROCKFORD.charAt((drawn[taken + index] as number) & 31);
  taken += RANDOM_CHARS;
  return text;
};
