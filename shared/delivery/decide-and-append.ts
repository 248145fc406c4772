import { offsetAt } from '../content/time-zones.ts';
import type { Command } from '../domain/decide.ts';
import { decide } from '../domain/decide.ts';
import type { Decision, DecisionInput } from '../domain/work.ts';
import type { NotificationState } from '../domain/state.ts';
import type { Loaded } from '../ledger/load.ts';
import { loadedWith } from '../ledger/load.ts';
import type { Append, Provenance } from '../ledger/rows.ts';
import { toAppend } from '../ledger/rows.ts';
import type { Transition } from '../domain/transitions.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import { countDecision, regionLabel } from './count-decision.ts';
import type { Engine } from './engine.ts';
import { logDecision, logProviders } from './log-decision.ts';
import { abandonIfLanded } from './never-called.ts';
import { passOnMoves } from './pass-on-moves.ts';
import { passOnQuestion } from './pass-on-question.ts';
import type { Grasp } from './hands.ts';
import { noHands, openGrasp } from './hands.ts';
import { renderFor } from './payload.ts';
import { afterReload, noteLostRace, noteReload } from './reload.ts';
import type { LostRace } from './reload.ts';
import { eligibilityOf, sendersFor, throttlesAt } from './suppression.ts';
import type { BoundVersions } from './versions.ts';

/** What one round of load -> decide -> append came to. */
export type Result =
  | { kind: 'not_found' }
  /** The decision was to do nothing. */
  | { kind: 'unchanged'; state: NotificationState }
  | {
    kind: 'appended'; before: NotificationState; decision: Decision;
    /** What a load would bring now, unless somebody else appends meanwhile; null where the append changed more than the state. */
    after: Loaded | null;
  };

const MOST_ROUNDS = 50;

/** The input of a decision on a loaded notification, at `now`. */
export const inputFor = (engine: Engine, loaded: Loaded, bound: BoundVersions, grasp?: Grasp): DecisionInput => ({
  takes: grasp?.takes, now: engine.now(), random: engine.random, policy: bound.policy, carriers: engine.carriers, providers: loaded.providers,
  eligibility: eligibilityOf(sendersFor(engine, bound.policy), loaded), offsetAt,
  render: (planned) => {
    const rendered = renderFor(engine, loaded, bound, planned);
    if (rendered.ok) grasp?.rendered(planned.attemptKey, rendered.message);
    return rendered.ok ? { ok: true, hash: rendered.hash, content: rendered.content } : { ok: false, reason: rendered.reason };
  },
});

/** Rests on the notification alone, whose version the append compares: neither on the suppression list nor on a provider's state. */
const RESTS_ON_ITSELF: ReadonlySet<Transition['kind']> = new Set(['SubmissionAccepted', 'StatusObserved', 'AttemptDelivered', 'NotificationSettled', 'PayloadDestroyed']);
const restsOnItself = ({ transitions, requests }: Decision): boolean => requests.length === 0 && transitions.every(({ transition }) => RESTS_ON_ITSELF.has(transition.kind));
/** Nothing but a start: its append compares the suppression list and the provider's revision as well. */
const isBareStart = ({ providers }: Loaded, { transitions, requests }: Decision): boolean =>
  providers !== undefined && transitions.length === 1 && transitions[0]?.transition.kind === 'SubmissionStarted' && requests.every((one) => one.kind === 'provider' && one.write === null);

/** A claim whose submission starts with it: that makes its append compare all that the claim rests on. */
const CLAIMS: ReadonlySet<Transition['kind']> = new Set([...RESTS_ON_ITSELF, 'AttemptUndelivered', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued', 'SubmissionStarted']);
const isWholeClaim = ({ providers }: Loaded, { transitions, requests }: Decision): boolean =>
  providers !== undefined && transitions.every(({ transition: { kind } }) => CLAIMS.has(kind)) && transitions.some(({ transition: { kind } }) => kind === 'SubmissionStarted')
  && requests.every((one) => one.kind === 'provider' && one.write === null);

const loadedAfter = (loaded: Loaded, { state, requests }: Decision, { headHash, rows }: Append): Loaded | null =>
  (rows.destroyed.length > 0 || requests.some((one) => (one.kind === 'provider' && one.write !== null) || one.kind === 'suppress') ? null : loadedWith(loaded, { state, headHash, providers: loaded.providers }));

interface How {
  provenance: Provenance;
  enrich?: ((append: Append) => Append) | undefined;
  /** Says that what is loaded may be older than this decision, and whether that matters to it: then nothing is appended, as after a lost race. */
  maySkip?: ((decision: Decision) => boolean) | undefined;
  /** The versions that the notification is bound to, where they are at hand. */
  bound?: BoundVersions | undefined;
}

/** Decides on what is loaded and appends it; null where another append came first. */
export const tryDecide = async (engine: Engine, loaded: Loaded, command: Command, how: How): Promise<Result | null> => {
  if (engine.hands === noHands) return decideWith(engine, loaded, command, { how });
  const grasp = openGrasp(engine);
  try {
    return await decideWith(engine, loaded, command, { how, grasp });
  } finally {
    grasp.leave();
  }
};

const decideWith = async (engine: Engine, loaded: Loaded, command: Command, { how, grasp }: { how: How; grasp?: Grasp }): Promise<Result | null> => {
  const bound = how.bound ?? await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
  const decision = decide(command, loaded.state, inputFor(engine, loaded, bound, grasp));
  if (how.maySkip?.(decision) === true) return null;
  if (decision.transitions.length === 0) return { kind: 'unchanged', state: loaded.state };
  const append = toAppend(decision, { before: loaded.state, prevHash: loaded.headHash, provenance: how.provenance, senders: sendersFor(engine, bound.policy).senderPrints, policy: bound.policy, barring: loaded.suppressed });
  const won = await engine.append(how.enrich?.(append) ?? append).catch((error: unknown) => {
    abandonIfLanded(engine, error, { decision, append, actor: how.provenance.actor, record: decideAndAppend });
    throw error;
  });
  if (!won) return null;
  if (decision.transitions.some(({ transition }) => transition.kind === 'FallbackClaimed')) faultPoint('fallback-claimed');
  logDecision(engine.log, decision);
  logProviders(engine.log, decision);
  countDecision(engine.metrics, decision, { before: loaded.state, region: regionLabel(bound.policy, loaded.region) });
  passOnMoves(engine, decision);
  passOnQuestion(engine, decision);
  const after = loadedAfter(loaded, decision, append);
  if (after) engine.recent.keep(after);
  else engine.recent.forget(loaded.eventId);
  grasp?.submit(decision, after);
  return { kind: 'appended', before: loaded.state, decision, after };
};

/**
 * Nobody asks how many a recipient has had until a race is lost, which may have been to a throttle: the append itself counts, so that
 * whatever is not held by one pays for no question.
 */
const withThrottles = async (engine: Engine, loaded: Loaded, { policy }: BoundVersions): Promise<Loaded> => {
  const throttles = throttlesAt(policy, engine.now());
  return throttles.length === 0 ? loaded : { ...loaded, suppressed: [...loaded.suppressed, ...await engine.ledger.throttled(loaded.eventId, throttles)] };
};

export interface Round {
  provenance: Provenance;
  /** The command for what was loaded in this round; called anew after every lost race. */
  command: (loaded: Loaded, bound: BoundVersions) => Command;
  enrich?: (append: Append) => Append;
  /** What was loaded a moment ago: a decision that rests on the notification alone is tried on it, since the append compares its version. */
  known?: Loaded | null;
  /** Earlier appends of this very round whose answers were lost: where one of them stands, there is nothing left to do. */
  doubts?: readonly Append[];
}

const stands = async ({ ledger }: Engine, doubts: readonly Append[]): Promise<boolean> =>
  (doubts.length > 0 ? (await Promise.all(doubts.map(ledger.landed))).includes(true) : false);

/** The version a round of load and decide stood on, and the kinds of entries it appended. */
const cameTo = (result: Exclude<Result, { kind: 'not_found' }>): { found: number; to: string[] } =>
  (result.kind === 'unchanged'
    ? { found: result.state.version, to: [] }
    : { found: result.before.version, to: result.decision.transitions.map(({ transition }) => transition.kind) });

/**
 * Load, decide, append at the version decided on; after a lost race reload and decide again. Losing is no error, but it is told:
 * in the log, and in the request id of what is appended afterwards. `lost` is a race that the caller has lost before.
 */
export const decideAndAppend = async (engine: Engine, eventId: string, round: Round, lost: LostRace | null = null): Promise<Result> => {
  let last = lost;
  const { doubts = [] } = round;
  if (round.known && lost === null && doubts.length === 0) {
    const { known } = round;
    const bound = await engine.versions.bind(known.state.purpose, known.state.policyVersion);
    let skipped = false;
    const maySkip = (decision: Decision): boolean => (skipped = decision.transitions.length === 0 || !(restsOnItself(decision) || isBareStart(known, decision) || isWholeClaim(known, decision)));
    const result = await tryDecide(engine, known, round.command(known, bound), { provenance: round.provenance, enrich: round.enrich, maySkip, bound });
    if (result) return result;
    engine.recent.forget(eventId);
    if (!skipped) {
      last = { eventId, decidedOn: known.state.version, provenance: round.provenance };
      noteLostRace(engine.log, last);
    }
  }
  for (let tries = 0; tries < MOST_ROUNDS; tries += 1) {
    const found = await engine.load(eventId);
    if (!found) return { kind: 'not_found' };
    // After the load: what lands in between is found here, and what lands later takes the version that this round would.
    if (await stands(engine, doubts)) return { kind: 'unchanged', state: found.state };
    const bound = await engine.versions.bind(found.state.purpose, found.state.policyVersion);
    const loaded = last === null ? found : await withThrottles(engine, found, bound);
    const provenance = last === null ? round.provenance : afterReload(last);
    const result = await tryDecide(engine, loaded, round.command(loaded, bound), { provenance, enrich: round.enrich, bound });
    if (result) {
      if (last !== null && result.kind !== 'not_found') await noteReload(engine, last, cameTo(result));
      return result;
    }
    last = { eventId, decidedOn: loaded.state.version, provenance: round.provenance };
    noteLostRace(engine.log, last);
  }
  throw new Error(`lost ${MOST_ROUNDS} races in a row for ${eventId}`);
};
