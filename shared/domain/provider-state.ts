import type { AttemptKey, Instant } from './words.ts';
import type { ProviderName, SubmitResult } from './provider-answers.ts';
import type { Random } from './clocks.ts';

/** The one attempt that may try whether a provider works again. */
export interface Probe {
  attempt: AttemptKey;
  /** The submission that is the probe; null while it waits in its queue. */
  submission: number | null;
  /** After that instant another attempt may be the probe. */
  untilAt: Instant;
}

/**
 * What the deployment knows of a provider's account. `closed`: it works, as far as anyone knows; `open`: it refused us, nothing is
 * submitted; `probing`: one attempt is let through to find out. Plain JSON; `revision` is what a conditional write names.
 */
export interface ProviderState {
  state: 'closed' | 'open' | 'probing';
  revision: number;
  /** Why it is open, or was. */
  reason: 'provider_auth' | 'provider_account' | null;
  /** Begin of the incident, or of the last one. */
  openedAt: Instant | null;
  closedAt: Instant | null;
  /** Refusals and probes without success since it opened. */
  failures: number;
  /** Not before that instant is it probed; null where it is closed. */
  probeAt: Instant | null;
  probe: Probe | null;
}

/** By provider name; what is missing has never refused us. */
export type ProviderStates = Partial<Record<ProviderName, ProviderState>>;

/** Whether a reason says that our account was refused, and not the message. */
export const isAccountRefusal = (reason: string): boolean => reason === 'provider_auth' || reason === 'provider_account';

/** A provider that has never refused us. */
export const NEVER_OPENED: ProviderState = { state: 'closed', revision: 0, reason: null, openedAt: null, closedAt: null, failures: 0, probeAt: null, probe: null };

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** When the next probe may go: 10 s after the first refusal, doubled by each failure up to 5 min, half of it jittered. */
const nextProbeAt = (failures: number, now: Instant, random: Random): Instant => {
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(20, failures - 1));
  return now + Math.round(pause / 2 + (pause / 2) * random());
};

/** Whether another attempt may be the probe now: its time has come, or the one before never told. */
export const isProbeDue = ({ state, probeAt, probe }: ProviderState, now: Instant): boolean => {
  if (state === 'open') return (probeAt ?? now) <= now;
  return state === 'probing' && (probe?.untilAt ?? now) <= now;
};

/** Whether that attempt must wait: the provider refuses us, and it is not the probe and cannot be it now. */
export const mustWait = (provider: ProviderState, key: AttemptKey, now: Instant): boolean =>
  provider.state !== 'closed' && provider.probe?.attempt !== key && !isProbeDue(provider, now);

/** Whether that submission is the probe. */
export const isProbe = (provider: ProviderState, key: AttemptKey, submission: number): boolean =>
  provider.state === 'probing' && provider.probe?.attempt === key && provider.probe.submission === submission;

/** The provider refused our account: an incident begins. */
export const opened = (before: ProviderState, reason: 'provider_auth' | 'provider_account', { now, random }: { now: Instant; random: Random }): ProviderState =>
  ({ ...before, state: 'open', reason, openedAt: now, closedAt: null, failures: 1, probeAt: nextProbeAt(1, now, random), probe: null });

/** That attempt is the probe. */
export const probedBy = (before: ProviderState, probe: Probe): ProviderState => ({ ...before, state: 'probing', probeAt: null, probe });

/** The probe was answered by a refusal, or by nothing that tells: the pause grows. */
export const probeFailed = (before: ProviderState, { now, random }: { now: Instant; random: Random }): ProviderState =>
  ({ ...before, state: 'open', failures: before.failures + 1, probeAt: nextProbeAt(before.failures + 1, now, random), probe: null });

/** The probe did not come about: another one may go at once. */
export const probeGivenBack = (before: ProviderState, now: Instant): ProviderState => ({ ...before, state: 'open', probeAt: now, probe: null });

/** The account works again. */
export const closed = (before: ProviderState, now: Instant): ProviderState => ({ ...before, state: 'closed', closedAt: now, failures: 0, probeAt: null, probe: null });

/**
 * What the probe's answer says of the account. A refusal of the message itself comes from a provider that let us in; a timeout, a
 * server error or *not now* says nothing of the account.
 */
export const afterProbe = (before: ProviderState, result: SubmitResult, at: { now: Instant; random: Random }): ProviderState => {
  if (result.kind === 'accepted' || result.kind === 'rejected') return closed(before, at.now);
  return result.kind === 'abandoned' || result.kind === 'unsendable' ? probeGivenBack(before, at.now) : probeFailed(before, at);
};
