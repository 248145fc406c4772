import type { Channel } from './words.ts';

export type EscalateWhen = 'pending' | 'accepted' | 'unknown' | 'failed';
export type OnUnknown = 'hold' | 'replay' | 'resubmit_if_absent';

/** The transport clock of a step: how one submission that was definitely not processed is tried again. */
export interface TransportRetry { maxSubmissions: number; baseMs: number; capMs: number }

/** No more than that many attempts of a purpose are submitted to one destination within any span of that length; what comes beyond is skipped. */
export interface Throttle { most: number; withinMs: number }

/** One channel of a policy with its clocks and rules. */
export interface PolicyStep {
  name: string;
  channel: Channel;
  /** Template name and number; bound for the life of the notification. */
  template: string;
  templateVersion: number;
  /** Offsets from the acceptance by the provider, ascending. Empty for a transport without status by poll. */
  pollOffsetsMs: number[];
  /** Share of each offset by which a poll may come earlier or later, e.g. 0.1. */
  pollJitter: number;
  /** How long before the decision deadline the final poll is made. */
  finalPollLeadMs: number;
  decideWithinMs: number;
  /** Time kept before expiry to dispatch this step when it is a later one. */
  reserveMs: number;
  escalateWhen: EscalateWhen[];
  onUnknown: OnUnknown;
  /** How old the newest observation may be when a claim rests on it. */
  maxObservationAgeMs: number;
  /** How long the claim waits for one more look where the newest observation is too old. */
  lookWithinMs: number;
  transportRetry: TransportRetry;
  /** How long a submission may stay without an outcome before it is unknown; more than fence + request timeout. */
  submitLimitMs: number;
  /** Whether the origin system is asked before this step is claimed or submitted, and what it means that it does not answer; absent: it is not. */
  precondition?: 'send' | 'hold';
  /** First wait before a queued attempt without a started submission is enqueued again; doubled each time. */
  requeueAfterMs: number;
  /** Runs in shadow: everything but the provider call, beside the other steps and without a say in what becomes of them. */
  shadow?: true;
  /** How many of it one recipient may get; absent: any number. */
  throttle?: Throttle;
  /** An email of this step has the notification's reports attached while they are no larger than this, all together; without it they are only linked. */
  attachUpToBytes?: number;
}

/**
 * How long the parts of a payload are kept. Secrets leave no choice: they go as soon as no submission can be started any more.
 * No other part ever goes before that.
 */
export interface PayloadTerms {
  /** `submitted`: with the secrets. `settled`: once the notification has settled as well. `retention`: until the policy's retention is over. */
  variables: 'submitted' | 'settled' | 'retention';
  /** `retry_window`: until settled, no dead letter is open and the window is over. `retention`: until the policy's retention is over. */
  addresses: 'retry_window' | 'retention';
  /** From settling on. */
  retryWindowMs: number;
  /**
   * `nothing`: once settled without an open dead letter nothing is submitted any more, also not for an operator after a later bounce, so
   * that secrets need not wait for expiry. `retry` where absent.
   */
  afterSettling?: 'retry' | 'nothing';
}

/** What holds where a policy says nothing of it. */
export const DEFAULT_PAYLOAD_TERMS: PayloadTerms = { variables: 'retention', addresses: 'retry_window', retryWindowMs: 24 * 3_600_000 };

/** From when on an operator is told of a notification; `alertTerms` says what holds where a threshold is left out. */
export interface AlertTerms {
  /** How long before expiry somebody is paged where nothing under way can reach the recipient. */
  pageBeforeMs?: number;
  /** The objective of an unknown outcome. */
  unknownForMs?: number;
  /** By when a planned attempt must have been taken by its provider. */
  dispatchWithinMs?: number;
  /** How long something due may wait. */
  stalledForMs?: number;
}

/** A daily span in which a channel stays silent: times of day such as `21:00`; it may pass midnight. */
export interface QuietHours {
  from: string; to: string;
  /** `recipient`, or an IANA name. */
  timeZone: string;
  /** Where the recipient's is not known: silent while it is quiet in any of these; without them it is never used then. */
  ifUnknown?: string[];
  /** Policies of that urgency are not held by it. */
  except?: ('urgent' | 'routine')[];
}

/** One immutable, numbered version of a policy. */
export interface Policy {
  purpose: string;
  version: number;
  strategy: 'escalate' | 'all';
  urgency: 'urgent' | 'routine';
  classification: 'transactional' | 'commercial' | 'subscription';
  /** Regions the policy covers; another region is `policy_rejected`. Per region, the lawful bases each channel accepts. */
  regions: Record<string, { consent: Partial<Record<Channel, string[]>>; quietHours?: Partial<Record<Channel, QuietHours>> }>;
  expiresAfterMs: number;
  /** How long after expiry reconciling polls may go on. */
  reconcileGraceMs: number;
  /** First distance of reconciling polls after the decision deadline, doubled each time up to the cap. */
  reconcileEveryMs: number;
  reconcileCapMs: number;
  retentionMs: number;
  /** `DEFAULT_PAYLOAD_TERMS` where it is left out. */
  payload?: PayloadTerms;
  /** `alertTerms` says what holds where a threshold is left out. */
  alerts?: AlertTerms;
  /** Variables that whoever hands over a notification gives; for lint alone. */
  supplies?: string[];
  /** Channels that may carry a secret variable; for lint alone. */
  secretChannels?: Record<string, Channel[]>;
  steps: PolicyStep[];
}

/** Every basis that a policy names, in whatever region and channel: only these stand in clear, any other counts for nothing and is its caller's own text. */
export const namedBases = ({ regions }: Pick<Policy, 'regions'>): ReadonlySet<string> => new Set(Object.values(regions).flatMap(({ consent }) => Object.values(consent).flat()));
