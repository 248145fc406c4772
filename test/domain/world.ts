import { offsetAt } from '../../shared/content/time-zones.ts';
import type { Channel, Instant } from '../../shared/domain/words.ts';
import type { Command } from '../../shared/domain/decide.ts';
import { decide } from '../../shared/domain/decide.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import type { ReasonCode } from '../../shared/domain/reasons.ts';
import type { RetryOverrides } from '../../shared/domain/retry.ts';
import type { Intent } from '../../shared/domain/lifecycle.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { ProviderState, ProviderStates } from '../../shared/domain/provider-state.ts';
import { NEVER_OPENED } from '../../shared/domain/provider-state.ts';
import type { Asked, LookUpResult, ProviderName, StatusReading, SubmitResult } from '../../shared/domain/provider-answers.ts';
import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import { emptyState } from '../../shared/domain/state.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import type { Stamped, Transition, TransitionKind } from '../../shared/domain/transitions.ts';
import type { Carrier, Decision, DecisionInput, RenderOutcome, Request } from '../../shared/domain/work.ts';
import { openChecks } from './invariants.ts';
import { CARRIERS } from './policies.ts';

export const START: Instant = Date.UTC(2026, 0, 5, 12);
export const EVENT = 'evt_01KDZ8Q2M3N4P5R6S7T8V9W0XY';

export interface WorldOptions { policy: Policy; random?: () => number; carriers?: Record<Channel, Carrier>; render?: (channel: Channel) => RenderOutcome; /** Whether a worker is at hand for what a decision queues; without it never. */ takes?: (channel: Channel) => boolean }

/** One notification whose clock, provider and workers are the test. Every decision is checked against the invariants. */
export interface World {
  readonly state: NotificationState;
  readonly entries: Stamped[];
  readonly requests: Request[];
  /** The edges of the attempt states that were walked, `from->to`, with how often. */
  readonly edges: Map<string, number>;
  readonly now: Instant;
  /** Moves the clock to that many milliseconds after the start, without applying what falls due on the way. */
  jumpTo: (sinceStartMs: number) => void;
  /** Moves the clock, ticking at each instant at which a decision is due. */
  runTo: (sinceStartMs: number) => void;
  decide: (command: Command) => Decision;
  accept: (intent?: Partial<Intent>) => Decision;
  tick: () => Decision;
  start: (channel: Channel) => Decision;
  answer: (channel: Channel, result: SubmitResult, submission?: number) => Decision;
  poll: (channel: Channel, reading: StatusReading) => Decision;
  lookUp: (channel: Channel, result: LookUpResult, asked?: Asked) => Decision;
  /** A look-up that is asked for at this moment. */
  asksNow: (channel: Channel) => Asked;
  close: () => Decision;
  pause: () => Decision;
  resume: () => Decision;
  retry: (channel: Channel, overrides?: RetryOverrides) => Decision;
  /** From now on a channel is barred for that reason, or (null) may be used again. */
  bar: (channel: Channel, reason?: ReasonCode | null) => void;
  attempt: (channel: Channel) => AttemptState;
  /** A provider as the deployment knows it, and as another notification changes it. */
  provider: (channel: Channel) => ProviderState;
  setProvider: (channel: Channel, change: Partial<ProviderState>) => void;
  status: () => string;
  kinds: () => TransitionKind[];
  last: <Kind extends TransitionKind>(kind: Kind) => Extract<Transition, { kind: Kind }>['details'];
}

const walkedEdges = (before: NotificationState, after: NotificationState): string[] =>
  after.attempts.flatMap((attempt, index) => {
    const was = before.attempts[index];
    const moved = was?.state === attempt.state ? [] : [`${was?.state ?? '[*]'}->${attempt.state}`];
    return attempt.settledAt !== null && (was?.settledAt ?? null) === null ? [...moved, `${attempt.state}->[*]`] : moved;
  });

const countEdges = (edges: Map<string, number>, start: NotificationState, transitions: readonly Stamped[]): void => {
  let state = start;
  for (const stamped of transitions) {
    const next = evolve(state, stamped);
    for (const edge of walkedEdges(state, next)) edges.set(edge, (edges.get(edge) ?? 0) + 1);
    state = next;
  }
};

/** The providers that a decision changes, as they are from then on. */
const providersWritten = ({ requests }: Decision): ProviderStates =>
  Object.fromEntries(requests.flatMap((one) => (one.kind === 'provider' && one.write ? [[one.provider, one.write] as const] : [])));

/** Opens a world in which nothing was accepted yet. */
export const openWorld = ({ policy, random = () => 0.5, carriers = CARRIERS, render = () => ({ ok: true, hash: 'b1946ac9' }), takes }: WorldOptions): World => {
  const check = openChecks(EVENT);
  const entries: Stamped[] = [];
  const requests: Request[] = [];
  const edges = new Map<string, number>();
  const barred = new Map<Channel, ReasonCode>();
  let now = START;
  let state = emptyState(EVENT);
  let providers: ProviderStates = {};
  const run = (command: Command): Decision => {
    const input: DecisionInput = { now, random, policy, carriers, providers, eligibility: (channel) => barred.get(channel) ?? null, offsetAt, render: ({ step }) => render(step.channel), ...(takes ? { takes: ({ channel }) => takes(channel) } : {}) };
    const decision = decide(command, state, input);
    providers = { ...providers, ...providersWritten(decision) };
    check({ before: state, command, decision, input, providers });
    countEdges(edges, state, decision.transitions);
    state = decision.state;
    entries.push(...decision.transitions);
    requests.push(...decision.requests);
    return decision;
  };
  const attempt = (channel: Channel): AttemptState => {
    const found = state.attempts.findLast((one) => one.channel === channel);
    if (!found) throw new Error(`no attempt on ${channel}`);
    return found;
  };
  const asksNow = (channel: Channel): Asked => ({ at: now, reads: attempt(channel).polls });
  const nameOf = (channel: Channel): ProviderName => carriers[channel].name;
  return {
    get state() { return state; },
    get now() { return now; },
    entries, requests, edges,
    jumpTo: (sinceStartMs) => { now = START + sinceStartMs; },
    runTo: (sinceStartMs) => {
      for (let next = nextDecideAt(state); next !== null && next <= START + sinceStartMs; next = nextDecideAt(state)) {
        now = Math.max(now, next);
        run({ kind: 'tick' });
      }
      now = START + sinceStartMs;
    },
    decide: run,
    accept: (intent = {}) => run({ kind: 'accept', intent: { region: 'US', requestedAt: now, expiresAt: null, barred: {}, recipientCommitment: 'c0ffee', ...intent } }),
    tick: () => run({ kind: 'tick' }),
    start: (channel) => run({ kind: 'start_submission', attempt: attempt(channel).key }),
    answer: (channel, result, submission = attempt(channel).submissions) => run({ kind: 'record_submission', attempt: attempt(channel).key, submission, result }),
    poll: (channel, reading) => run({ kind: 'record_status', attempt: attempt(channel).key, reading }),
    lookUp: (channel, result, asked = asksNow(channel)) => run({ kind: 'record_look_up', attempt: attempt(channel).key, result, asked }),
    asksNow,
    close: () => run({ kind: 'close', reason: 'taken' }),
    pause: () => run({ kind: 'pause', reason: 'maintenance' }),
    resume: () => run({ kind: 'resume', reason: 'done' }),
    retry: (channel, overrides = {}) => run({ kind: 'retry', attempt: attempt(channel).key, reason: 'looked_at', overrides }),
    bar: (channel, reason = 'suppressed') => { if (reason === null) barred.delete(channel); else barred.set(channel, reason); },
    attempt,
    provider: (channel) => providers[nameOf(channel)] ?? NEVER_OPENED,
    setProvider: (channel, change) => {
      const before = providers[nameOf(channel)] ?? NEVER_OPENED;
      providers = { ...providers, [nameOf(channel)]: { ...before, ...change, revision: before.revision + 1 } };
    },
    status: () => publicStatus(state),
    kinds: () => entries.map(({ transition }) => transition.kind),
    last: (kind) => {
      const found = entries.findLast(({ transition }) => transition.kind === kind);
      if (!found) throw new Error(`no ${kind} in the ledger`);
      return found.transition.details as never;
    },
  };
};

/** A world in which a notification was accepted under that policy, and nothing else came to pass. */
export const openAccepted = (policy: Policy): World => {
  const world = openWorld({ policy });
  world.accept();
  return world;
};

const raw = { httpStatus: 200, code: '30003', text: 'to +12025550101, copy to ada@example.com, see https://example.com/x' };
export const accepted = (providerMessageId = 'SM0001'): SubmitResult => ({ kind: 'accepted', providerMessageId, raw });
export const deferred = (retryAfterMs: number | null = null): SubmitResult => ({ kind: 'deferred', reason: 'rate_limited', retryAfterMs, raw });
export const rejected: SubmitResult = { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination', raw };
export const suppressed: SubmitResult = { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out', raw };
export const unavailable: SubmitResult = { kind: 'provider_unavailable', reason: 'provider_auth', raw };
export const lost: SubmitResult = { kind: 'unknown', reason: 'lost_response', raw };
export const abandoned: SubmitResult = { kind: 'abandoned', reason: 'start_too_late' };
export const reads = (outcome: Extract<StatusReading, { kind: 'observed' }>['outcome']): StatusReading => ({ kind: 'observed', outcome, reason: null, raw });
/** What corrects a delivery: the provider says that the message came back. */
export const bounced: StatusReading = { kind: 'observed', outcome: 'undelivered', reason: 'carrier_failed', laterBounce: true, raw };
export const notFound: StatusReading = { kind: 'not_found', raw };
export const readFailed = (retryAfterMs: number | null = null) => ({ kind: 'read_failed' as const, reason: 'read_failed' as const, retryAfterMs, raw });
export const found = (outcome: Extract<StatusReading, { kind: 'observed' }>['outcome'], providerMessageId = 'SM0001'): LookUpResult =>
  ({ kind: 'found', providerMessageId, outcome, reason: null, raw });
