import { encodeTime } from 'ulid';
import type { EventId } from '../domain/words.ts';

/** Event ids begin with the millisecond of their request: no id of that one or of a later one is below this. */
export const lowestEventId = (at: number): EventId => `evt_${encodeTime(Math.max(0, at), 10)}${'0'.repeat(16)}`;

/** No id is above this. */
export const HIGHEST_EVENT_ID: EventId = `evt_${'Z'.repeat(26)}`;
