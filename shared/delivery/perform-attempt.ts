import type { AttemptKey } from '../domain/words.ts';
import { parseAttemptKey } from '../domain/words.ts';
import type { Command } from '../domain/decide.ts';
import type { RenderedMessage } from '../domain/words.ts';
import type { SubmitResult } from '../domain/provider-answers.ts';
import { findAttempt } from '../domain/state.ts';
import { stepOf } from '../domain/clocks.ts';
import { startRefusal } from '../domain/submissions.ts';
import { smsSize } from '../content/segments.ts';
import type { Loaded } from '../ledger/load.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { SubmitRequest, Transport } from '../transports/transport.ts';
import { openArtifact } from './artifacts.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { atOnce } from './gate.ts';
import type { InTurn } from './gate.ts';
import type { Started } from './hands.ts';
import { sealRaw } from './observe.ts';
import { renderFor } from './payload.ts';
import { releaseWaiting } from './sweep.ts';
import { recordUnlessTaken } from './unless-taken.ts';
import type { BoundVersions } from './versions.ts';

export interface PerformSettings {
  transport: Transport;
  /** Most milliseconds between the commit of `SubmissionStarted` and the first byte of the call. */
  submitStartWithinMs: number;
  actor: string;
  /** Lets a call wait for its turn; without it none waits. */
  inTurn?: InTurn;
}

/** What a worker's job came to: done, or to be run again at an instant. */
export type Performed = 'done' | { retryAtMs: number };

/**
 * How often an attempt planned for another provider is left to a worker of that provider, while a deployment changes over; after
 * that none is likely to come, and it is a dead letter.
 */
const REQUEUES_LEFT_TO_ANOTHER = 2;

/**
 * The command that starts a submission, or refuses it for good: the message is rendered again, and one that differs from the
 * hash fixed at planning is a dead letter, never a call (invariant 7). So is, in the end, one planned for another provider: its
 * key means nothing to this one.
 */
const startCommand = (engine: Engine, key: AttemptKey, { rendered, provider }: { rendered: { message: RenderedMessage | null }; provider: string }) => (loaded: Loaded, bound: BoundVersions): Command => {
  const attempt = findAttempt(loaded.state, key);
  if (!attempt || attempt.state !== 'queued') return { kind: 'start_submission', attempt: key };
  // In shadow nobody is called, so whoever takes it up will do.
  if (attempt.provider !== provider && !attempt.shadow) {
    engine.log.warn({ event: EVENTS.submissionRefused, attempt: key, refusal: 'another_provider', planned_for: attempt.provider });
    return attempt.requeues < REQUEUES_LEFT_TO_ANOTHER ? { kind: 'tick' } : { kind: 'refuse_to_submit', attempt: key, reason: 'carrier_changed' };
  }
  const render = renderFor(engine, loaded, bound, { step: stepOf(bound.policy, attempt.step), attemptKey: key, plannedAt: attempt.plannedAt });
  if (!render.ok) return { kind: 'refuse_to_submit', attempt: key, reason: render.reason === 'payload_destroyed' ? 'payload_destroyed' : 'render_drift' };
  if (render.hash !== attempt.renderHash) return { kind: 'refuse_to_submit', attempt: key, reason: 'render_drift' };
  rendered.message = render.message;
  return { kind: 'start_submission', attempt: key };
};

const start = async (engine: Engine, key: AttemptKey, eventId: string, settings: PerformSettings): Promise<Started | Performed> => {
  const rendered: { message: RenderedMessage | null } = { message: null };
  let fencedFrom = 0;
  const command = startCommand(engine, key, { rendered, provider: settings.transport.name });
  const result = await decideAndAppend(engine, eventId, {
    known: engine.recent.find(eventId),
    provenance: { actor: settings.actor, requestId: `start-${key}-${Math.round(engine.monotonic())}-${engine.random().toString(36).slice(2, 8)}` },
    command: (loaded, bound) => {
      // Before the append, so that a pause anywhere from here on counts.
      fencedFrom = engine.monotonic();
      return command(loaded, bound);
    },
  });
  if (result.kind === 'not_found') return 'done';
  const started = result.kind === 'appended' ? result.decision.transitions.find(({ transition }) => transition.kind === 'SubmissionStarted' && transition.details.attempt === key) : undefined;
  if (result.kind === 'appended' && started?.transition.kind === 'SubmissionStarted' && rendered.message) {
    const { submission, outcome_due_at: outcomeDueAt } = started.transition.details;
    const { attempts, requestedAt } = result.decision.state;
    return { submission, message: rendered.message, fencedFrom, outcomeDueAt, acceptedAt: attempts.filter((one) => !one.shadow).length === 1 && submission === 1 ? requestedAt : null, known: result.after };
  }
  const state = result.kind === 'appended' ? result.decision.state : result.state;
  const refusal = startRefusal(state, key, engine.now());
  if (refusal === 'already_started') engine.metrics.duplicatesPrevented.inc({ channel: parseAttemptKey(key)?.channel ?? 'none', cause: refusal });
  engine.log.debug({ event: EVENTS.submissionRefused, attempt: key, refusal });
  const retryAt = findAttempt(state, key)?.retryAt ?? null;
  return refusal === 'not_yet' && retryAt !== null ? { retryAtMs: engine.hostNow() + Math.max(1, retryAt - engine.now()) } : 'done';
};

const BOOKING_MS = 500;

/**
 * A message with attachments is as long as they are, and may take all the time that its policy gives a submission: what is left of it
 * after the fence, and before the ledger calls the outcome unknown.
 */
const whatItCarries = (engine: Engine, { message, outcomeDueAt }: Started, { submitStartWithinMs }: PerformSettings): Partial<SubmitRequest> =>
  (message.channel === 'email' && message.attachments
    ? { openArtifact: (wanted) => openArtifact(engine, wanted), limitMs: Math.max(1, outcomeDueAt - engine.now() - submitStartWithinMs - BOOKING_MS) }
    : {});

/** A transport never throws for a provider's sake; where it does all the same, nothing is known of the call. */
const submit = async (engine: Engine, key: AttemptKey, started: Started, settings: PerformSettings): Promise<SubmitResult> => {
  const leftToStartMs = (): number => settings.submitStartWithinMs - (engine.monotonic() - started.fencedFrom);
  try {
    return await settings.transport.submit({
      attemptKey: key, message: started.message, mayStart: () => leftToStartMs() >= 0, startWithinMs: leftToStartMs(), ...whatItCarries(engine, started, settings),
    });
  } catch (error) {
    const { name, code } = error as Error & { code?: string };
    engine.log.error({ event: EVENTS.submissionRefused, attempt: key, error: name, ...(code === undefined ? {} : { code }) });
    return { kind: 'unknown', reason: 'lost_response' };
  }
};

/** What the provider asks for it: an SMS by its segments. Counted only where a price is known. */
const costOf = ({ prices }: Engine, message: RenderedMessage): number =>
  (message.channel === 'email' ? prices.email : prices.sms === 0 ? 0 : prices.sms * smsSize(message.text).segments);

const measure = (engine: Engine, { result, calledAt, started: { acceptedAt, message } }: { result: SubmitResult; calledAt: number; started: Started }, { name: provider, channel }: Transport): void => {
  const { metrics, monotonic, now } = engine;
  metrics.submissions.inc({ channel, provider, result: result.kind, reason: 'reason' in result ? result.reason : 'none' });
  if (result.kind === 'abandoned') return;
  // What was refused costs nothing; what may have been sent does.
  if (result.kind === 'accepted' || result.kind === 'unknown') metrics.costs.inc({ kind: channel }, costOf(engine, message));
  metrics.callSeconds.observe({ provider, call: 'submit' }, (monotonic() - calledAt) / 1000);
  if (acceptedAt !== null) metrics.toProviderSeconds.observe({ channel, provider }, Math.max(0, now() - acceptedAt) / 1000);
};

/**
 * Performs one attempt: load, decide, append `SubmissionStarted`, call the provider once, append what came of it. A job that
 * comes twice, late or for an attempt that was superseded finds the ledger ahead of it and does nothing. The outcome is
 * recorded however long the database is away; if the process dies first, the rescue books it as unknown.
 */
export const performAttempt = async (engine: Engine, key: AttemptKey, settings: PerformSettings): Promise<Performed> => {
  const parts = parseAttemptKey(key);
  if (!parts) return 'done';
  const started = await start(engine, key, parts.eventId, settings);
  if (started === 'done' || 'retryAtMs' in started) return started;
  await performStarted(engine, key, started, settings);
  return 'done';
};

/**
 * Makes a submission whose start is committed: calls the provider once, and appends what came of it, however long the database is away.
 */
export const performStarted = async (engine: Engine, key: AttemptKey, started: Started, settings: PerformSettings): Promise<void> => {
  const eventId = parseAttemptKey(key)?.eventId ?? '';
  faultPoint('submission-started');
  const calledAt = engine.monotonic();
  const { inTurn = atOnce } = settings;
  const result = await inTurn(() => submit(engine, key, started, settings));
  const answeredAt = engine.now();
  measure(engine, { result, calledAt, started }, settings.transport);
  faultPoint('answer-received');
  const raw = 'raw' in result ? result.raw : undefined;
  const instead: SubmitResult = { kind: 'unknown', reason: 'answer_not_understood', ...(raw ? { raw } : {}) };
  const recorded = await recordUnlessTaken(engine, key, { heard: result, instead }, (heard, doubts) => decideAndAppend(engine, eventId, {
    doubts,
    provenance: { actor: settings.actor, requestId: `submit-${key}-${started.submission}` },
    known: started.known,
    command: () => ({ kind: 'record_submission', attempt: key, submission: started.submission, result: heard, answeredAt }),
    enrich: sealRaw(engine, eventId, raw),
  }));
  // What waited goes on at once; where this process dies first, the next sweep sets it free.
  if (recorded.kind === 'appended' && recorded.decision.requests.some((one) => one.kind === 'provider' && one.write?.state === 'closed')) await releaseWaiting(engine, settings.actor);
};

