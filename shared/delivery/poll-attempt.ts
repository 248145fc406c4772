import type { AttemptKey } from '../domain/words.ts';
import { parseAttemptKey, referenceOf } from '../domain/words.ts';
import type { AttemptState } from '../domain/state.ts';
import { findAttempt, isReconciling, submissionStart } from '../domain/state.ts';
import type { Command } from '../domain/decide.ts';
import type { RawAnswer } from '../domain/provider-answers.ts';
import type { Loaded } from '../ledger/load.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Transport } from '../transports/transport.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { atOnce } from './gate.ts';
import type { InTurn } from './gate.ts';
import { sealRaw } from './observe.ts';
import { addressOf } from './payload.ts';
import { recordUnlessTaken } from './unless-taken.ts';

export interface PollSettings {
  /** By provider name. */
  transports: ReadonlyMap<string, Transport>;
  actor: string;
  /** Lets a call wait for its turn; without it none waits. */
  inTurn?: InTurn;
}

/** Clocks of two processes differ a little; a poll that the one found due must not be turned away by the other. */
const CLOCK_SLACK_MS = 500;

interface Reading { command: Extract<Command, { kind: 'record_status' | 'record_look_up' }>; raw: RawAnswer | undefined }

const failure = { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null } as const;

/** Asks the provider: by its own id where we have one, by our reference where the submission's fate is unknown. */
const ask = async (engine: Engine, loaded: Loaded, attempt: AttemptState, transport: Transport): Promise<Reading | null> => {
  const asked = { at: engine.now(), reads: attempt.polls };
  const to = (): string => addressOf(engine.ring, loaded, attempt.channel) ?? '';
  const log = (error: unknown) => engine.log.error({ event: EVENTS.pollFailed, attempt: attempt.key, error: (error as Error).name });
  if (attempt.state === 'submitted' && attempt.providerMessageId !== null && transport.readStatus) {
    const reading = await transport.readStatus({ attemptKey: attempt.key, providerMessageId: attempt.providerMessageId, to: transport.statusByRecipient ? to() : '' }).catch((error: unknown) => { log(error); return failure; });
    return { command: { kind: 'record_status', attempt: attempt.key, reading, askedAt: asked.at }, raw: 'raw' in reading ? reading.raw : undefined };
  }
  if (attempt.state === 'submitted_unknown' && transport.lookUp) {
    const result = await transport.lookUp({
      attemptKey: attempt.key, reference: referenceOf(attempt.key), to: to(), from: engine.sender[attempt.channel], submissionStartedAt: submissionStart(attempt) ?? attempt.plannedAt,
    }).catch((error: unknown) => { log(error); return failure; });
    return { command: { kind: 'record_look_up', attempt: attempt.key, result, asked }, raw: 'raw' in result ? result.raw : undefined };
  }
  return null;
};

/** What a read brought, in one word. */
const broughtBy = (command: Reading['command']): string => {
  if (command.kind === 'record_status') return command.reading.kind === 'observed' ? command.reading.outcome : command.reading.kind;
  return command.result.kind === 'found' ? command.result.outcome : command.result.kind;
};

const measure = ({ metrics, monotonic, prices }: Engine, command: Reading['command'], { provider, calledAt, lagMs }: { provider: string; calledAt: number; lagMs: number }): void => {
  const call = command.kind === 'record_status' ? 'status' : 'look_up';
  metrics.polls.inc({ provider, call, outcome: broughtBy(command) });
  metrics.costs.inc({ kind: 'poll' }, prices.poll);
  metrics.callSeconds.observe({ provider, call }, (monotonic() - calledAt) / 1000);
  metrics.pollLagSeconds.observe({ provider }, Math.max(0, lagMs) / 1000);
};

const isDue = (attempt: AttemptState | null, now: number): attempt is AttemptState & { nextPollAt: number } =>
  attempt !== null && isReconciling(attempt) && attempt.nextPollAt !== null && attempt.nextPollAt <= now + CLOCK_SLACK_MS;

/**
 * Makes one due poll or look-up and records what it brought. The reading is decided on against the state as it is then, not
 * as it was when the question was asked. A poll that is no longer due does nothing.
 */
export const pollAttempt = async (engine: Engine, key: AttemptKey, settings: PollSettings): Promise<void> => {
  const parts = parseAttemptKey(key);
  if (!parts) return;
  const recent = engine.recent.find(parts.eventId);
  // What is recent may be out of date: only the ledger turns a poll away.
  const loaded = recent && isDue(findAttempt(recent.state, key), engine.now()) ? recent : await engine.load(parts.eventId);
  const attempt = loaded ? findAttempt(loaded.state, key) : null;
  if (!loaded || !isDue(attempt, engine.now())) return;
  const transport = settings.transports.get(attempt.provider);
  if (!transport) return;
  const { inTurn = atOnce } = settings;
  const { reading, calledAt, lagMs } = await inTurn(async () => {
    const [calledAt, lagMs] = [engine.monotonic(), engine.now() - attempt.nextPollAt];
    return { reading: await ask(engine, loaded, attempt, transport), calledAt, lagMs };
  });
  if (!reading) return;
  measure(engine, reading.command, { provider: attempt.provider, calledAt, lagMs });
  const { command } = reading;
  const instead: Command = command.kind === 'record_look_up' ? { ...command, result: { kind: 'read_failed', reason: 'answer_not_understood', retryAfterMs: null } } : command;
  await recordUnlessTaken(engine, key, { heard: command, instead }, (heard, doubts) => decideAndAppend(engine, parts.eventId, {
    doubts,
    provenance: { actor: settings.actor, requestId: `poll-${key}-${attempt.polls + attempt.failedReads + 1}` },
    known: loaded,
    command: () => heard,
    enrich: sealRaw(engine, parts.eventId, reading.raw),
  }));
};
