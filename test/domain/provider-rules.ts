import { findAttempt } from '../../shared/domain/state.ts';
import { must } from './broken-invariant.ts';
import type { Decided } from './invariants.ts';

/** Checks a decision against what it knew of the providers, and what it made of them. Throws BrokenInvariant. */
export const checkProviders = ({ before, decision: { state, transitions, requests }, input: { now, providers: known = {} }, providers }: Decided): void => {
  const written = requests.flatMap((one) => (one.kind === 'provider' ? [one] : []));
  must(new Set(written.map((one) => one.provider)).size === written.length, 'a provider is written once in a decision', written);
  for (const { provider, expected, write } of written) {
    must(expected === (known[provider]?.revision ?? 0) && (write === null || write.revision === expected + 1), 'a provider is written on the revision that was read', write);
    must(transitions.length > 0, 'a provider changes together with the entries that say why', write);
    must(write === null || (write.state === 'open') === (write.probeAt !== null), 'an open provider is probed some time', write);
  }
  for (const { transition: t } of transitions) {
    if (t.kind === 'SubmissionStarted') {
      const name = findAttempt(state, t.details.attempt)?.provider ?? 'smtp';
      const was = known[name];
      const request = written.find((one) => one.provider === name);
      must(request !== undefined, 'a submission rests on the state of its provider', t);
      if (!was || was.state === 'closed') must(t.details.probe === undefined, 'a probe goes to a provider that refused us', t);
      else {
        const due = was.state === 'open' ? (was.probeAt ?? 0) <= now : was.probe?.attempt === t.details.attempt || (was.probe?.untilAt ?? 0) <= now;
        must(due && t.details.probe === true && request?.write?.probe?.attempt === t.details.attempt, 'nothing is submitted while the provider is open except one probe', t);
      }
    }
    if (t.kind === 'AttemptHeld') must(known[t.details.provider]?.state !== 'closed' || providers[t.details.provider]?.state !== 'closed', 'only a provider that refuses us holds an attempt', t);
  }
  const letters = requests.filter((one) => one.kind === 'dead_letter' && (one.reason === 'provider_auth' || one.reason === 'provider_account'));
  for (const letter of letters) {
    if (letter.kind !== 'dead_letter') continue;
    const attempt = findAttempt(state, letter.attempt);
    const was = attempt && known[attempt.provider];
    must(!was || was.state === 'closed' || attempt.origin === 'operator', 'an incident has one dead letter', letter);
  }
  for (const attempt of state.attempts) {
    const provider = providers[attempt.provider];
    must(attempt.providerWaitAt === null || attempt.state === 'queued', 'only what is queued waits for its provider', attempt);
    must(attempt.providerWaitAt === null || state.paused === null, 'a pause holds by itself', attempt);
    if (provider?.probe?.attempt !== attempt.key) continue;
    const mine = attempt.state === 'submitting' || (attempt.state === 'queued' && attempt.providerWaitAt === null && !state.paused);
    must(mine || findAttempt(before, attempt.key) === null, 'a probe that cannot be made is given back', [attempt, provider]);
  }
};
