import type { Commit } from './memory-ledger.ts';
import type { Told } from './watch.ts';

/** Entries after which a submission is under way no more. */
const ANSWERS = new Set([
  'SubmissionAccepted', 'SubmissionDeferred', 'SubmissionAbandoned', 'SubmissionOutcomeUnknown', 'AttemptRejected', 'AttemptSuppressed', 'AttemptDeadLettered',
  'AttemptCancelled', 'AttemptExpired', 'ResubmissionWithdrawn',
]);

interface Probe { attempt: string; dueAt: number }

/**
 * What the design promises of a provider that refuses our account. Kept from the ledger's text and the rows written with it: which
 * providers are open, and which probe is under way.
 */
export const openProviderChecks = ({ report, skewMs }: { report: (invariant: string, about: string) => void; skewMs: number }) => {
  /** By provider, not before which instant it may be probed. */
  const open = new Map<string, number>();
  const probes = new Map<string, Probe>();
  const providerOf = ({ notification }: Commit, key: string): string => notification.state.attempts.find((one) => one.key === key)?.provider ?? 'none';

  const started = (commit: Commit, told: Told, now: number): void => {
    const key = String(told.transition.details['attempt']);
    const provider = providerOf(commit, key);
    if (!open.has(provider)) return;
    const row = commit.append.rows.providers.find((one) => one['provider'] === provider && one['writes'] === true);
    if (row?.['state'] !== 'probing' || row['probe_attempt'] !== key) return report('nothing is submitted while the provider is open except one probe', key);
    if (now + skewMs < (open.get(provider) ?? 0)) report('nothing is submitted while the provider is open except one probe', `${key} before its time`);
    const other = probes.get(provider);
    if (other && other.attempt !== key && now + skewMs < other.dueAt) report('nothing is submitted while the provider is open except one probe', `${key} beside ${other.attempt}`);
    probes.set(provider, { attempt: key, dueAt: Number(told.transition.details['outcome_due_at']) });
  };

  return (commit: Commit, told: readonly Told[], now: number): void => {
    for (const one of told) if (one.transition.kind === 'SubmissionStarted') started(commit, one, now);
    const begins = new Set<string>();
    for (const row of commit.append.rows.providers.filter((one) => one['writes'] === true)) {
      const provider = String(row['provider']);
      if (!open.has(provider) && row['state'] === 'open') begins.add(provider);
      if (row['state'] === 'closed') open.delete(provider);
      else open.set(provider, typeof row['probe_at'] === 'string' ? Date.parse(row['probe_at']) : 0);
    }
    for (const letter of commit.append.rows.dead_letters.filter((one) => one['reason'] === 'provider_auth' || one['reason'] === 'provider_account')) {
      const key = String(letter['attempt_key']);
      const attempt = commit.notification.state.attempts.find((one) => one.key === key);
      if (attempt?.origin !== 'operator' && !begins.has(providerOf(commit, key))) report('an incident of a provider has one dead letter', key);
    }
    for (const { transition: { kind, details } } of told) {
      if (!ANSWERS.has(kind)) continue;
      for (const [provider, probe] of probes) if (probe.attempt === details['attempt']) probes.delete(provider);
    }
  };
};
