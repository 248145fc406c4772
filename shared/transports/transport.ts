import type { Instant, RenderedMessage } from '../domain/words.ts';
import type { ReasonCode } from '../domain/reasons.ts';
import type { Capabilities, LookUpResult, ProviderName, StatusReading, SubmitResult } from '../domain/provider-answers.ts';

/** The verified bytes of what a message carries. The stream ends with an error whose `code` is `artifact_damaged` or `artifact_missing` where they are not as planned. */
export type OpenArtifact = (wanted: { artifactId: string; sha256: string }) => AsyncIterable<Buffer>;

export interface SubmitRequest {
  attemptKey: string;
  message: RenderedMessage;
  /**
   * Asked once, synchronously, right before the first byte of the request is written to a connected socket. When it answers
   * false the transport makes no call and returns `abandoned`: the fence between `SubmissionStarted` and the network.
   */
  mayStart: () => boolean;
  /** How long from now `mayStart` will answer true, in milliseconds: the same fence for a transport in a thread of its own, which cannot ask. */
  startWithinMs?: number;
  /** Needed where the message has attachments. */
  openArtifact?: OpenArtifact;
  /** How long the call may take, where that is longer than the adapter's own limit: a message with attachments is as long as they are. */
  limitMs?: number;
}

export interface StatusRequest { attemptKey: string; providerMessageId: string; to: string }

export interface LookUpRequest { attemptKey: string; reference: string; to: string; from: string; submissionStartedAt: Instant }

export interface InboundRequest {
  /** Our sender, as messages name it. */
  to: string;
  /** Nothing older is of interest; a provider may tell of it all the same. */
  since: Instant;
  /** As the answer for the page before named it; null for the first. */
  page: string | null;
}

/** What somebody sent to our sender. `id` is the provider's, the same in every listing; `receivedAt` is by its clock. */
export interface InboundMessage { id: string; from: string; text: string; receivedAt: Instant }

/** One page of inbound messages, the newest first; `next` is null on the last one. A failed read tells nothing. */
export type InboundReading =
  | { kind: 'read'; messages: InboundMessage[]; next: string | null }
  | { kind: 'read_failed'; reason: ReasonCode; retryAfterMs: number | null };

/**
 * The port of a provider: sending is mandatory, reading a status, looking up by our own reference and reading what recipients send back are optional
 * capabilities. Expected bad outcomes are values; a method throws only on a broken invariant of its own. Each method ends
 * within its own time limit (`timeoutMs` of the adapter's settings), whatever the provider does.
 */
export interface Transport {
  readonly name: ProviderName;
  readonly channel: 'sms' | 'email';
  readonly capabilities: Capabilities;
  /** Its status is read by the recipient too; for any other the address need not be opened, and `to` may be empty. */
  readonly statusByRecipient?: true;
  submit(request: SubmitRequest): Promise<SubmitResult>;
  readStatus?(request: StatusRequest): Promise<StatusReading>;
  lookUp?(request: LookUpRequest): Promise<LookUpResult>;
  readInbound?(request: InboundRequest): Promise<InboundReading>;
  /** Releases kept-alive connections. */
  close(): Promise<void>;
}
