import type { Channel } from '../domain/words.ts';
import type { Carrier } from '../domain/work.ts';

/** What each adapter declares of itself, known without opening it: the decider needs it where nothing is sent. */
export const CARRIERS: Record<Channel, Carrier> = {
  sms: { name: 'twilio', capabilities: { dedup: 'none', reconcile: 'heuristic', evidence: 'carrier', statusByPoll: true } },
  email: { name: 'smtp', capabilities: { dedup: 'none', reconcile: 'none', evidence: 'none', statusByPoll: false } },
};
