import type { AttemptState } from './state.ts';
import { mayBeSent, submissionStart } from './state.ts';
import { wasBarred } from './eligibility.ts';
import type { ExplainedEntry } from './explain.ts';
import { answeredWith, heardOf } from './explain-heard.ts';
import { instant, reasonText } from './explain-words.ts';

/** Something of it is or was at its provider, may be there, or was refused there: its channel was used. What was never processed reached nobody. */
export const reachedProvider = (attempt: AttemptState): boolean => {
  if (attempt.submittedAt !== null || mayBeSent(attempt)) return true;
  if (attempt.state === 'suppressed') return !wasBarred(attempt);
  return ['submitting', 'submitted', 'submitted_unknown', 'delivered', 'undelivered', 'rejected'].includes(attempt.state);
};

/** The newest entry of a kind about an attempt; undefined where there is none. */
export const entryAbout = (entries: readonly ExplainedEntry[], { key }: AttemptState, ...kinds: string[]): ExplainedEntry | undefined =>
  entries.findLast((entry) => kinds.includes(entry.kind) && entry.details['attempt'] === key);

/** `its 3 submissions were definitely not processed`, or that nobody was called. Of whom it is told stands in it: the sentence may be about another channel. */
const inVain = (name: string, { submissions }: AttemptState): string => {
  if (submissions === 0) return `no provider was called for ${name}`;
  const counted = submissions === 1 ? 'one submission' : `${submissions} submissions`;
  return `${name === 'it' ? `its ${counted}` : `the ${counted} of ${name}`} ${submissions === 1 ? 'was' : 'were'} definitely not processed`;
};

const ended = (name: string, attempt: AttemptState, entries: readonly ExplainedEntry[]): string => {
  const entry = entryAbout(entries, attempt, 'AttemptUndelivered', 'AttemptRejected', 'AttemptSuppressed');
  const source = entry ? `; heard by ${String(entry.details['source'])}` : '';
  return `${name} ended as *${attempt.state}* at ${instant(entry?.at ?? attempt.settledAt ?? attempt.plannedAt)} (${reasonText(attempt.reason)}${source})`;
};

const taken = (name: string, attempt: AttemptState, entries: readonly ExplainedEntry[]): string => {
  const { said, since } = heardOf(attempt, entries);
  const word = said && !said.bySubmit ? `and last said *${said.outcome}* at ${instant(said.at)}` : null;
  const told = since ? `${word === null ? '' : `${word}, `}and has answered since ${answeredWith(since)}` : word ?? 'and has said nothing since';
  return `${name} was taken by ${attempt.provider} at ${instant(attempt.submittedAt ?? attempt.plannedAt)}, ${told}`;
};

/** What is known of an attempt, with the instant of the observation. `name` is how it is called in the sentence. */
export const standingOf = (name: string, attempt: AttemptState, entries: readonly ExplainedEntry[]): string => {
  switch (attempt.state) {
    case 'delivered': {
      const entry = entryAbout(entries, attempt, 'AttemptDelivered');
      return `${name} was confirmed *delivered* at ${instant(entry?.at ?? attempt.plannedAt)}${entry ? ` (heard by ${String(entry.details['source'])})` : ''}`;
    }
    case 'undelivered': case 'rejected': return ended(name, attempt, entries);
    case 'suppressed': return wasBarred(attempt) ? `${inVain(name, attempt)}, and at ${instant(attempt.settledAt ?? attempt.plannedAt)} ${name === 'it' ? 'its channel' : name} could not be used (${reasonText(attempt.reason)})` : ended(name, attempt, entries);
    case 'submitted': return taken(name, attempt, entries);
    case 'submitting': return `a submission of ${name} was started at ${instant(attempt.submissionStartedAt ?? attempt.plannedAt)}, and its answer is awaited`;
    case 'submitted_unknown': return `whether ${name} was sent is unknown since ${instant(attempt.unknownSubmissions.at(-1)?.bookedAt ?? submissionStart(attempt) ?? attempt.plannedAt)} (${reasonText(attempt.unknownSubmissions.at(-1)?.reason ?? attempt.reason)})`;
    case 'planned': case 'queued':
      return mayBeSent(attempt) ? `whether ${name} was sent is unknown since ${instant(attempt.unknownSubmissions[0]?.bookedAt ?? attempt.plannedAt)}` : `nothing of ${name} is at a provider since it was planned at ${instant(attempt.plannedAt)}`;
    default: return `${inVain(name, attempt)} between ${instant(attempt.plannedAt)}, when it was planned, and ${instant(attempt.settledAt ?? attempt.plannedAt)}`;
  }
};
