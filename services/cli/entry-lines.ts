import type { Entry } from './ledger-session.ts';

const SHOWN = ['reason', 'cause', 'outcome', 'class', 'source', 'channel', 'status', 'submission', 'generation', 'in_flight', 'counts', 'retry_at', 'next_poll_at', 'decision_deadline_at', 'until'];

/** Time of day in UTC with milliseconds. */
export const clock = (at: number): string => new Date(at).toISOString().slice(11, 23);

/** Date and time in UTC, to the second. */
export const dateTime = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`;

/** `sms.1` of an attempt key. */
export const shortAttempt = (key: string | null): string => (key === null ? '' : key.split('.').slice(1).join('.'));

const valueOf = (name: string, value: unknown): string =>
  (typeof value === 'number' && (name.endsWith('_at') || name === 'until') ? clock(value) : String(value));

/** The details of an entry that explain it at a glance. They hold codes and instants only. */
export const shortDetails = ({ details }: Entry): string => {
  const parts = SHOWN.filter((name) => details[name] !== undefined && details[name] !== null).map((name) => `${name}=${valueOf(name, details[name])}`);
  const rests = details['rests_on'] as { class?: string; stale?: boolean } | null | undefined;
  if (rests) parts.push(`rests_on=${rests.class}${rests.stale ? ' (stale)' : ''}`);
  return parts.join(' ');
};

/** `queued → submitting`. */
export const change = ({ from, to }: Entry): string => (from === to ? to : `${from ?? '·'} → ${to}`);

export const ENTRY_HEAD = ['v', 'time (UTC)', 'entry', 'attempt', 'from → to', 'details'];

/** An entry as a row of a table. */
export const entryRow = (entry: Entry): string[] =>
  [String(entry.version), clock(entry.at), entry.kind, shortAttempt(entry.attempt), change(entry), shortDetails(entry)];

/** An entry for programs: instants as ISO 8601. */
export const entryJson = (eventId: string, entry: Entry): Record<string, unknown> =>
  ({ event_id: eventId, version: entry.version, at: new Date(entry.at).toISOString(), kind: entry.kind, attempt_key: entry.attempt, from: entry.from, to: entry.to, actor: entry.actor, policy_version: entry.policyVersion, details: entry.details });
