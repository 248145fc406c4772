import type { AttemptState } from './state.ts';
import type { ExplainedEntry } from './explain.ts';
import { instant } from './explain-words.ts';
import type { Instant } from './words.ts';

/** What a provider last said of an attempt, and what came of asking since that told nothing. */
export interface Heard {
  said: { outcome: string; at: Instant; bySubmit: boolean } | null;
  since: { kind: 'unclear' | 'unrecognised' | 'absent' | 'not_listed' | 'several'; at: Instant } | null;
}

/** What an answer says was so when it was given, which may be long before it is recorded. */
const toldAt = ({ at, details }: ExplainedEntry): Instant => (details['asked_at'] ?? details['answered_at'] ?? at) as Instant;

const saidBy = (entry: ExplainedEntry): Heard['said'] => {
  const { kind, details } = entry;
  const at = toldAt(entry);
  const outcome = String(details['outcome']);
  if (outcome === 'unknown' || outcome === 'not_found' || outcome === 'several') return null;
  if (kind === 'SubmissionAccepted' || kind === 'AttemptAdopted') return { outcome, at, bySubmit: kind === 'SubmissionAccepted' };
  return kind === 'StatusObserved' && details['counts'] === true ? { outcome, at, bySubmit: details['source'] === 'submit' } : null;
};

const toldNothing = (entry: ExplainedEntry): Heard['since'] => {
  const { kind, details } = entry;
  const at = toldAt(entry);
  // The late answer of a call is no look at the message, and a listing that does not count found another one.
  if ((kind !== 'StatusObserved' && kind !== 'AttemptAdopted') || details['source'] === 'submit' || (details['source'] === 'look_up' && details['counts'] !== true)) return null;
  switch (details['outcome']) {
    case 'unknown': return { kind: details['reason'] === 'status_not_recognised' ? 'unrecognised' : 'unclear', at };
    case 'not_found': return { kind: details['source'] === 'look_up' ? 'not_listed' : 'absent', at };
    case 'several': return { kind: 'several', at };
    default: return null;
  }
};

/** What had been heard of an attempt by the end of these entries. The state keeps the highest status and the newest look; this keeps the provider's own word. */
export const heardOf = ({ key }: Pick<AttemptState, 'key'>, entries: readonly ExplainedEntry[]): Heard => {
  const about = entries.filter(({ details }) => details['attempt'] === key);
  const last = about.findLastIndex((entry) => saidBy(entry) !== null);
  const newer = about.slice(last + 1).findLast((entry) => toldNothing(entry) !== null);
  return { said: about[last] ? saidBy(about[last]) : null, since: newer ? toldNothing(newer) : null };
};

const ANSWERED: Record<NonNullable<Heard['since']>['kind'], string> = {
  unrecognised: 'a status that is not recognised', unclear: 'a status that leaves open what became of it', absent: 'that it does not know it (yet)',
  not_listed: 'a list in which it was not found', several: 'a list in which several messages could be it',
};

/** `a status that is not recognised, at …`: what asking brought that told nothing. */
export const answeredWith = ({ kind, at }: NonNullable<Heard['since']>): string => `${kind === 'absent' ? '' : 'with '}${ANSWERED[kind]}, at ${instant(at)}`;

/** `the provider last said *pending* about SMS, at …, and has answered since with …`. `about` names the attempt, where the sentence does not. */
export const tellHeard = ({ said, since }: Heard, about: string | null): string => {
  const of = about === null ? '' : ` about ${about}`;
  if (!said) return since ? `the provider has said nothing of use${of}, and last answered ${answeredWith(since)}` : `the provider has said nothing${of}`;
  return `the provider last said *${said.outcome}*${about === null ? '' : `${of},`} at ${instant(said.at)}${since ? `, and has answered since ${answeredWith(since)}` : ''}`;
};
