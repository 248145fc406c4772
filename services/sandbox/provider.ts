import type { Inbox } from './inbox.ts';
import type { Outages } from './outage.ts';
import type { Replies } from './replies.ts';
import type { ScenarioBook } from './scenario-book.ts';

/** What all stand-ins share: where receipts go, what is to happen, who is away, and the clock (ms since the epoch). */
export interface Provider { inbox: Inbox; book: ScenarioBook; outages: Outages; replies: Replies; now: () => number }

export interface TwilioAccount { accountSid: string; authToken: string }
export interface SinchAccount { planId: string; token: string }
export interface ResendAccount { apiKey: string }
