import fc from 'fast-check';
import type { Channel } from '../../shared/domain/words.ts';
import type { EscalateWhen, OnUnknown, PayloadTerms } from '../../shared/domain/policy.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import type { Asked, LookUpResult, StatusReading, SubmitResult } from '../../shared/domain/provider-answers.ts';
import { isReconciling } from '../../shared/domain/state.ts';
import type { Carrier } from '../../shared/domain/work.ts';
import { CARRIERS, RECONCILING, examplePolicy } from './policies.ts';
import type { World } from './world.ts';
import { START, abandoned, accepted, bounced, deferred, found, lost, notFound, openWorld, readFailed, reads, rejected, suppressed, unavailable } from './world.ts';

const SUBMIT: SubmitResult[] = [accepted(), accepted(), accepted(), accepted('SM0002'), deferred(), deferred(20_000), deferred(3_600_000), rejected, suppressed, unavailable, lost, lost, abandoned];
const READ: StatusReading[] = [reads('pending'), reads('pending'), reads('accepted'), reads('delivered'), reads('undelivered'), reads('rejected'), reads('suppressed'), reads('unknown'), notFound, readFailed(), readFailed(45_000)];
const LOOK: LookUpResult[] = [found('pending'), found('accepted'), found('delivered'), found('undelivered'), found('pending', 'SM0009'), { kind: 'none' }, { kind: 'none' }, { kind: 'several', matches: 2 }, readFailed()];

const ACTS = [
  'wake', 'wake', 'wake', 'work', 'work', 'work', 'work', 'answer', 'answer', 'answer', 'poll', 'poll', 'poll', 'stray', 'wait', 'wait', 'leap', 'tick', 'refuse', 'close', 'pause', 'resume', 'resume',
  'bounce', 'retry', 'retry', 'bar', 'allow', 'outage', 'rival', 'repair', 'repair', 'reply', 'reply', 'reply',
] as const;

/** What happens next, and three free numbers that say how. */
export interface Act { kind: (typeof ACTS)[number]; pick: number; draw: number; repeat: boolean }
export interface Life {
  precondition: 'send' | 'hold' | null; asksOnly: Channel | null; onUnknown: OnUnknown; maxSubmissions: number; reconciling: boolean; escalateWhen: EscalateWhen[]; strategy: 'escalate' | 'all'; order: Channel[]; canLookUp: boolean; emailByPoll: boolean; jitter: number;
  renderFails: Channel | null; barred: Channel | null; expiresInMs: number; seed: number; acts: Act[];
  payload: PayloadTerms;
  shadow: Channel | null;
  /** Whether workers are at hand for what a decision queues: always, for one channel, or never. */
  hands: Channel | 'both' | null;
  /** A channel that is silent for a while, in minutes after the start. */
  quiet: { channel: Channel; from: number; minutes: number; zoneKnown: boolean; exempt: boolean } | null;
}

const act: fc.Arbitrary<Act> = fc.record({ kind: fc.constantFrom(...ACTS), pick: fc.nat(1_000), draw: fc.nat(1_000_000), repeat: fc.boolean() });
export const anyLife: fc.Arbitrary<Life> = fc.record({
  precondition: fc.constantFrom<'send' | 'hold' | null>(null, null, null, 'send', 'hold'), asksOnly: fc.constantFrom<Channel | null>(null, 'sms', 'email'), onUnknown: fc.constantFrom<OnUnknown>('hold', 'replay', 'resubmit_if_absent'), maxSubmissions: fc.constantFrom(3, 3, 2, 5), reconciling: fc.boolean(),
  escalateWhen: fc.oneof(fc.constant<EscalateWhen[]>(['pending', 'accepted', 'unknown', 'failed']), fc.subarray<EscalateWhen>(['pending', 'accepted', 'unknown', 'failed'])),
  strategy: fc.constantFrom('escalate', 'escalate', 'escalate', 'all'),
  order: fc.constantFrom<Channel[]>(['sms', 'email'], ['sms', 'email'], ['sms', 'email'], ['sms', 'email'], ['email', 'sms'], ['email']),
  canLookUp: fc.boolean(), emailByPoll: fc.boolean(), jitter: fc.constantFrom(0, 0.1, 0.3),
  renderFails: fc.constantFrom<Channel | null>(null, null, null, null, null, null, null, null, 'sms', 'email'),
  barred: fc.constantFrom<Channel | null>(null, null, null, null, null, null, null, null, 'sms', 'email'),
  expiresInMs: fc.constantFrom(900_000, 900_000, 90_000, 20_000), seed: fc.nat(), acts: fc.array(act, { minLength: 5, maxLength: 45 }),
  quiet: fc.oneof(fc.constant(null), fc.record({ channel: fc.constantFrom<Channel>('sms', 'email'), from: fc.integer({ min: 0, max: 4 }), minutes: fc.constantFrom(1, 2, 6, 12, 30), zoneKnown: fc.constantFrom(true, true, true, true, false), exempt: fc.constantFrom(false, false, false, true) })),
  payload: fc.record({
    variables: fc.constantFrom('submitted' as const, 'settled' as const, 'retention' as const), addresses: fc.constantFrom('retry_window' as const, 'retention' as const),
    retryWindowMs: fc.constantFrom(0, 60_000, 86_400_000), afterSettling: fc.constantFrom('retry' as const, 'retry' as const, 'nothing' as const),
  }),
  // Last, and seldom: the lives that were drawn before it was there stay as they were.
  shadow: fc.constantFrom<Channel | null>(...Array.from({ length: 10 }, () => null), 'sms', 'email'),
  hands: fc.constantFrom<Channel | 'both' | null>(null, null, 'both', 'sms', 'email'),
});

const generator = (seed: number) => {
  let at = seed >>> 0;
  return () => {
    at = (at + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(at ^ (at >>> 15), at | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

interface Call { attempt: string; submission: number }
interface Scene { world: World; calls: Call[]; /** Entries whose starts were seen. */ seen: number; /** The look-up that was asked for last: its answer may come twice, or after another's. */ asked: Map<string, Asked> }
const choose = <T>(list: readonly T[], number: number): T | undefined => list[number % Math.max(1, list.length)];

/** What the ledger lets start is on its way to the provider, whoever started it. */
const collect = (scene: Scene): void => {
  for (const { transition: t } of scene.world.entries.slice(scene.seen)) if (t.kind === 'SubmissionStarted') scene.calls.push({ attempt: t.details.attempt, submission: t.details.submission });
  scene.seen = scene.world.entries.length;
};

/** A worker takes a job, also one that was delivered twice. */
const work = (scene: Scene, next: Act): void => {
  const { world, calls } = scene;
  const { pick, draw, repeat } = next;
  const attempt = choose(world.state.attempts, pick);
  if (!attempt) return;
  collect(scene);
  world.decide({ kind: 'start_submission', attempt: attempt.key });
  collect(scene);
  if (draw % 4 > 0) answer(scene, { kind: 'answer', pick: calls.length - 1, draw, repeat });
};

const answer = ({ world, calls }: Scene, { pick, draw, repeat }: Act): void => {
  const call = choose(calls, pick);
  if (!call) return;
  // A repeated answer stays in the list: the same call may report again, with something else even.
  if (!repeat) calls.splice(calls.indexOf(call), 1);
  // While the database is away, an answer waits to be recorded.
  const startedAt = world.state.attempts.find(({ key }) => key === call.attempt)?.submissionStartedAt ?? world.now;
  const answeredAt = draw % 3 === 0 ? Math.max(startedAt, world.now - 4_000 * (draw % 7)) : world.now;
  world.decide({ kind: 'record_submission', ...call, result: choose(SUBMIT, draw) as SubmitResult, answeredAt });
};

const read = ({ world, asked }: Scene, key: string, draw: number): void => {
  const attempt = world.state.attempts.find((one) => one.key === key);
  const known = attempt?.providerMessageId !== null;
  if (known && draw % 7 > 0) world.decide({ kind: 'record_status', attempt: key, reading: choose(READ, draw) as StatusReading });
  else {
    const before = draw % 5 === 0 ? asked.get(key) : undefined;
    const now = before ?? { at: world.now, reads: attempt?.polls ?? 0 };
    asked.set(key, now);
    world.decide({ kind: 'record_look_up', attempt: key, result: choose(LOOK, draw) as LookUpResult, asked: now });
  }
};

/** Goes to the next instant at which a poll or a decision is due, and does it. */
const wake = (scene: Scene, { draw }: Act): void => {
  const { world } = scene;
  const decision = nextDecideAt(world.state);
  const poll = world.state.attempts.filter((attempt) => attempt.nextPollAt !== null).sort((one, other) => Number(one.nextPollAt) - Number(other.nextPollAt))[0];
  const pollAt = poll?.nextPollAt ?? null;
  if (poll && pollAt !== null && (decision === null || pollAt <= decision)) {
    world.jumpTo(Math.max(world.now, pollAt) - START);
    return read(scene, poll.key, draw);
  }
  if (decision !== null) world.jumpTo(Math.max(world.now, decision) - START);
  world.tick();
};

/** The origin system answers: mostly that it is needed, sometimes to a question that is over. */
const reply = (world: World, { draw, repeat }: Act): void => {
  const askedUntil = world.state.precondition?.askedUntil ?? (repeat ? world.now : null);
  if (askedUntil === null) return;
  world.decide({ kind: 'record_precondition', answer: (['needed', 'needed', 'needed', 'needed', 'error', 'error', 'not_needed'] as const)[draw % 7] ?? 'needed', askedUntil });
};

const channelOf = ({ repeat }: Act): Channel => (repeat ? 'email' : 'sms');

/** Another notification's call is refused for our account's sake. */
const breakProvider = (world: World, next: Act): void => {
  if (world.provider(channelOf(next)).state !== 'closed') return;
  world.setProvider(channelOf(next), { state: 'open', reason: 'provider_auth', openedAt: world.now, closedAt: null, failures: 1, probeAt: world.now + (next.draw % 20_000), probe: null });
};

/** Another notification's attempt takes the probe, where none is under way. */
const rivalProbe = (world: World, next: Act): void => {
  if (world.provider(channelOf(next)).state !== 'open') return;
  world.setProvider(channelOf(next), { state: 'probing', probeAt: null, probe: { attempt: 'evt_01KDZ8Q2M3N4P5R6S7T8V9W0ZZ.sms.1', submission: 1, untilAt: world.now + (next.draw % 15_000) } });
};

/** Another notification's probe passes. */
const repairProvider = (world: World, next: Act): void => {
  if (world.provider(channelOf(next)).state === 'closed') return;
  world.setProvider(channelOf(next), { state: 'closed', closedAt: world.now, failures: 0, probeAt: null, probe: null });
  world.tick();
};

const play = (scene: Scene, next: Act): void => {
  const { world } = scene;
  collect(scene);
  const attempt = choose(world.state.attempts, next.pick);
  switch (next.kind) {
    case 'wake': return wake(scene, next);
    case 'work': return work(scene, next);
    case 'answer': return answer(scene, next);
    case 'poll': {
      const live = choose(world.state.attempts.filter(isReconciling), next.pick);
      return live && read(scene, live.key, next.draw);
    }
    case 'stray': return attempt && attempt.submissions > 0 ? read(scene, attempt.key, next.draw) : undefined;
    case 'wait': return world.jumpTo(world.now - START + (next.draw % 4_000));
    case 'leap': return world.jumpTo(world.now - START + (next.draw % 200_000));
    case 'tick': return void world.tick();
    case 'refuse': return attempt && next.repeat ? void world.decide({ kind: 'refuse_to_submit', attempt: attempt.key, reason: 'render_drift' }) : undefined;
    case 'pause': return void (next.pick % 3 === 0 && world.pause());
    case 'resume': return void world.resume();
    case 'bounce': return attempt && attempt.providerMessageId !== null ? void world.decide({ kind: 'record_status', attempt: attempt.key, reading: bounced }) : undefined;
    case 'retry': return attempt && void world.decide({
      kind: 'retry', attempt: attempt.key, reason: 'looked_at', overrides: { evenIfDelivered: next.draw % 4 === 0, acceptDuplicate: next.draw % 3 === 0 },
    });
    case 'bar': return next.repeat ? world.bar(next.pick % 3 === 0 ? 'email' : 'sms', next.draw % 2 === 0 ? 'suppressed' : 'throttled') : undefined;
    case 'allow': return world.bar(next.pick % 2 === 0 ? 'email' : 'sms', null);
    case 'reply': return reply(world, next);
    case 'outage': return next.pick % 2 === 0 ? breakProvider(world, next) : undefined;
    case 'rival': return rivalProbe(world, next);
    case 'repair': return repairProvider(world, next);
    case 'close': return next.pick % 4 === 0 ? void world.close() : undefined;
  }
};

const carriersOf = ({ canLookUp, emailByPoll, reconciling }: Life): Record<Channel, Carrier> => (reconciling ? RECONCILING : {
  sms: { ...CARRIERS.sms, capabilities: { ...CARRIERS.sms.capabilities, reconcile: canLookUp ? 'heuristic' : 'none' } },
  email: { ...CARRIERS.email, capabilities: { ...CARRIERS.email.capabilities, statusByPoll: emailByPoll, reconcile: emailByPoll && canLookUp ? 'reference' : 'none' } },
});

/** Where a policy names the steps to ask before. */
const asking = ({ precondition, asksOnly }: Life, channel: Channel) => (precondition !== null && asksOnly === channel ? { precondition } : {});

const shadowOf = ({ shadow }: Life, channel: Channel) => (shadow === channel ? { shadow: true as const } : {});

const timeOf = (minutes: number): string => new Date(START + minutes * 60_000).toISOString().slice(11, 16);

const quietOf = ({ quiet }: Life) => (quiet === null ? {} : {
  regions: { US: { consent: {}, quietHours: { [quiet.channel]: { from: timeOf(quiet.from), to: timeOf(quiet.from + quiet.minutes), timeZone: 'recipient', ...(quiet.exempt ? { except: ['urgent' as const] } : {}) } } } },
});

/** Plays a life to its end: random acts, then only what time itself brings, until nothing is due any more. */
export const live = (life: Life): World => {
  const { escalateWhen, onUnknown, maxSubmissions, strategy, order, jitter, seed, renderFails, barred } = life;
  const step = { escalateWhen, onUnknown, pollJitter: jitter, transportRetry: { maxSubmissions, baseMs: 1_000, capMs: 10_000 } };
  const world = openWorld({
    policy: examplePolicy({ policy: { strategy, payload: life.payload, ...quietOf(life) }, sms: { ...step, ...asking(life, 'sms'), ...shadowOf(life, 'sms') }, email: { ...step, ...asking(life, 'email'), ...shadowOf(life, 'email') }, order }), random: generator(seed), carriers: carriersOf(life),
    render: (channel) => (channel === renderFails ? { ok: false, reason: 'render_error' } : { ok: true, hash: 'b1946ac9' }), takes: (channel) => life.hands === 'both' || life.hands === channel,
  });
  const scene: Scene = { world, calls: [], seen: 0, asked: new Map() };
  world.accept({
    ...(life.precondition === null ? {} : { onPreconditionError: life.precondition }), expiresAt: START + life.expiresInMs, barred: barred ? { [barred]: 'no_consent' } : {},
    payloadParts: ['secrets', 'variables', 'addresses'], timeZone: life.quiet?.zoneKnown === false ? null : 'UTC',
  });
  for (const next of life.acts) play(scene, next);
  const draws = generator(seed + 1);
  for (let left = 400; left > 0 && nextDecideAt(world.state) !== null; left -= 1) wake(scene, { kind: 'wake', pick: 0, draw: Math.floor(draws() * 1_000), repeat: false });
  return world;
};
