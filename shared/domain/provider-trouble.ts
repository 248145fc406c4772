import type { AttemptKey } from './words.ts';
import type { AttemptState } from './state.ts';
import { findAttempt } from './state.ts';
import type { ReasonCode } from './reasons.ts';
import type { Work } from './work.ts';
import { requeueInstant } from './clocks.ts';
import { isProbe, isProbeDue, mustWait, opened, probeFailed, probeGivenBack, probedBy } from './provider-state.ts';

/** How long a probe may wait in its queue for a worker before another attempt may be it. */
const PROBE_QUEUE_MS = 30_000;

const hold = (work: Work, attempt: AttemptState): void =>
  work.emit({ kind: 'AttemptHeld', details: { attempt: attempt.key, provider: attempt.provider, reason: work.provider(attempt.provider).reason ?? 'provider_account' } });

/** Takes a waiting attempt back to its queue under a new generation, not before the instant that its provider had wished. */
const release = (work: Work, attempt: AttemptState, reason: ReasonCode): void => {
  const at = Math.max(work.input.now, attempt.retryAt ?? work.input.now);
  const generation = attempt.generation + 1;
  work.emit({ kind: 'AttemptReleased', details: { attempt: attempt.key, reason, generation, requeue_at: requeueInstant(work.stepFor(attempt), at, 0) } });
  work.request({ kind: 'enqueue', attempt: attempt.key, channel: attempt.channel, generation, notBeforeAt: at });
};

const appoint = (work: Work, attempt: AttemptState): void => {
  const { now } = work.input;
  const untilAt = Math.max(now, attempt.retryAt ?? now) + PROBE_QUEUE_MS;
  work.setProvider(attempt.provider, probedBy(work.provider(attempt.provider), { attempt: attempt.key, submission: null, untilAt }));
};

/**
 * Holds what is queued for a provider that refuses us, and sets free what waited for one that is back; of those that wait while a
 * probe is due, one. What runs in shadow needs no provider. A held attempt has no alarm of its own: it waits for the provider, its deadline or its expiry.
 */
export const heedProviders = (work: Work): void => {
  for (const { key } of work.state.attempts) {
    const attempt = work.attempt(key);
    if (attempt.state !== 'queued' || attempt.shadow) continue;
    const provider = work.provider(attempt.provider);
    if (attempt.providerWaitAt === null) {
      if (mustWait(provider, key, work.input.now)) hold(work, attempt);
    } else if (provider.state === 'closed') release(work, attempt, 'provider_back');
    else if (isProbeDue(provider, work.input.now)) {
      appoint(work, attempt);
      release(work, attempt, 'probe');
    }
  }
};

/** An operator's retry finds out at once whether the provider is back, unless a probe is under way already. */
export const probeAtOnce = (work: Work, key: AttemptKey): void => {
  const attempt = findAttempt(work.state, key);
  if (attempt?.state !== 'queued') return;
  const provider = work.provider(attempt.provider);
  if (provider.state === 'open' || isProbeDue(provider, work.input.now)) appoint(work, attempt);
};

/**
 * Lets a submission start under what is known of its provider: its append stands only while that still holds, and where the
 * provider is open, the append also claims the probe. Returns whether this submission is the probe.
 */
export const passProvider = (work: Work, attempt: AttemptState, started: { submission: number; outcomeDueAt: number }): boolean => {
  const provider = work.provider(attempt.provider);
  if (provider.state === 'closed') {
    work.restOnProvider(attempt.provider);
    return false;
  }
  work.setProvider(attempt.provider, probedBy(provider, { attempt: attempt.key, submission: started.submission, untilAt: started.outcomeDueAt }));
  return true;
};

/** Whether a refusal of the account begins an incident: a call from before the last one ended says nothing new. */
export const beginsIncident = (work: Work, attempt: AttemptState): boolean => {
  const provider = work.provider(attempt.provider);
  return provider.state === 'closed' && (provider.closedAt === null || (attempt.submissionStartedAt ?? work.input.now) >= provider.closedAt);
};

/** The account was refused: its provider is open from now on. */
export const openProvider = (work: Work, attempt: AttemptState, reason: 'provider_auth' | 'provider_account'): void =>
  work.setProvider(attempt.provider, opened(work.provider(attempt.provider), reason, work.input));

/**
 * A probe that this notification owes and can no longer make is given back: its attempt ended, is paused, or nobody answers for
 * it any more. Part of every decision, so that it stands in the append that ends the attempt.
 */
export const giveBackProbes = (work: Work): void => {
  for (const { provider: name, key, submissions, state, providerWaitAt } of work.state.attempts) {
    const provider = work.provider(name);
    if (provider.state !== 'probing' || provider.probe?.attempt !== key) continue;
    const { submission } = provider.probe;
    if (state === 'submitting' && isProbe(provider, key, submissions)) continue;
    if (state === 'queued' && submission === null && providerWaitAt === null && !work.state.paused) continue;
    work.setProvider(name, submission === null ? probeGivenBack(provider, work.input.now) : probeFailed(provider, work.input));
  }
};
