import type { Policy } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { OriginAnswered } from './origins.ts';
import type { Told } from './watch.ts';

interface Settings { skewMs: number; report: (invariant: string, about: string) => void; originSaid: (eventId: string) => readonly OriginAnswered[] }

/** A question is waited for that long, and its answer stands that long from when it is recorded. */
const OLDEST_MS = 5_000 + 10_000;

/** The step that an entry claims or submits; null where it does neither. */
const stepOf = ({ transition: { kind, details } }: Told, from: NotificationState): number | null => {
  if (kind === 'FallbackClaimed') return Number(details['to_step']);
  if (kind !== 'SubmissionStarted') return null;
  return from.attempts.find((attempt) => attempt.key === details['attempt'])?.step ?? null;
};

/** The promises about the precondition, checked against what the origin system itself has answered. */
export const openOriginChecks = ({ skewMs, report, originSaid }: Settings) => (told: Told, from: NotificationState, policy: Policy): void => {
  const step = stepOf(told, from);
  const rule = step === null ? undefined : policy.steps[step]?.precondition;
  if (step === null || rule === undefined || from.precondition === null) return;
  const about = `${from.eventId} ${told.transition.kind} step ${step}`;
  const said = originSaid(from.eventId);
  if (from.precondition.askedUntil !== null) report('nothing is claimed or submitted while the origin is being asked', about);
  const { answer } = from.precondition;
  // Under *send* an answer that was lost on its way counts as an error, and it goes on.
  if (said.some((one) => one.answer === 'not_needed') && !(rule === 'send' && answer === 'error')) report('no text is claimed after the origin said no', about);
  if (answer === 'error') return rule === 'send' ? undefined : report('an error of the origin holds where the policy says so', about);
  if (!said.some((one) => one.answer === 'needed' && told.at - one.at <= OLDEST_MS + skewMs)) report('a claim rests on a fresh word of the origin', about);
};
