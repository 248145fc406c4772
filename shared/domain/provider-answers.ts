import type { Instant, Outcome } from './words.ts';
import type { ReasonCode } from './reasons.ts';

/** The provider's own words, for the sealed evidence only: never logged, never in the ledger. */
export interface RawAnswer { httpStatus?: number; code?: string; text?: string }

/** What one transport call came to. `deferred`, `rejected`, `provider_unavailable`, `unsendable` and `abandoned` mean *definitely not processed*. */
export type SubmitResult =
  | { kind: 'accepted'; providerMessageId: string; raw?: RawAnswer }
  /** Not processed now; may be tried again. `retryAfterMs` is the provider's wish, null where it has none. */
  | { kind: 'deferred'; reason: ReasonCode; retryAfterMs: number | null; raw?: RawAnswer }
  /** Refused for good. */
  | { kind: 'rejected'; outcome: 'rejected' | 'suppressed'; reason: ReasonCode; raw?: RawAnswer }
  /** Account or credentials refused: nothing will pass until a person acts. */
  | { kind: 'provider_unavailable'; reason: 'provider_auth' | 'provider_account'; raw?: RawAnswer }
  /** Sent or not? We cannot tell. */
  | { kind: 'unknown'; reason: ReasonCode; raw?: RawAnswer }
  /** The message cannot be sent as it was planned: it was broken off before its end, so the provider has nothing of it. */
  | { kind: 'unsendable'; reason: 'artifact_damaged' | 'artifact_missing' }
  /** The call was not made: too long had passed since the ledger said it would start. */
  | { kind: 'abandoned'; reason: 'start_too_late' };

/** What one status read came to. A failed read is no evidence. */
export type StatusReading =
  | {
    kind: 'observed'; outcome: Outcome; reason: ReasonCode | null; raw?: RawAnswer;
    /** The provider says in so many words that a message it had called delivered came back: the one thing that corrects *delivered*. */
    laterBounce?: boolean;
  }
  /** The provider does not know the id (yet). */
  | { kind: 'not_found'; raw?: RawAnswer }
  | { kind: 'read_failed'; reason: ReasonCode; retryAfterMs: number | null; raw?: RawAnswer };

/** What one look-up by our own reference came to. */
export type LookUpResult =
  | { kind: 'found'; providerMessageId: string; outcome: Outcome; reason: ReasonCode | null; raw?: RawAnswer }
  | { kind: 'none' }
  | { kind: 'several'; matches: number }
  | { kind: 'read_failed'; reason: ReasonCode; retryAfterMs: number | null; raw?: RawAnswer };

/** When a look-up was asked for, and how many reads had brought something by then: an answer that is recorded twice, or beside another's, is no second look. */
export interface Asked { at: Instant; reads: number }

export type ProviderName = 'twilio' | 'sinch' | 'smtp' | 'resend';

/** What a provider can and cannot tell (see docs/providers.md). */
export interface Capabilities {
  dedup: 'none' | 'replay';
  /** How long after the first submission the provider still knows its key; milliseconds. Without it, nothing is replayed. */
  replayWithinMs?: number;
  reconcile: 'reference' | 'replay' | 'heuristic' | 'none';
  /** How long a message may stay invisible to a look-up by reference; milliseconds. Without it, no look-up proves an absence. */
  visibleAfterMs?: number;
  /** What *delivered* means there; `none` where acceptance is the last thing the provider ever says. */
  evidence: 'handset' | 'carrier' | 'mta' | 'none';
  /** Whether the status of an accepted message can be read by polling. */
  statusByPoll: boolean;
  /** Reports of what became of an accepted message come by mail, to a mailbox that is read here. */
  reportsByMail?: true;
}
