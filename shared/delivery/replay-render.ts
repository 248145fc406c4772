import { attemptKeyOf } from '../domain/words.ts';
import type { TemplateVersion } from '../content/template.ts';
import { streamCaptured } from '../ledger/captured.ts';
import { HIGHEST_EVENT_ID, lowestEventId } from '../ledger/event-ids.ts';
import type { Loaded } from '../ledger/load.ts';
import { loadTemplate } from '../ledger/versions.ts';
import type { Engine } from './engine.ts';
import type { Addresses } from './payload.ts';
import { openPart } from './payload.ts';
import { replayMessage } from './replay-message.ts';
import type { Replayed } from './replay-message.ts';
import { templateKey } from './versions.ts';

export interface ReplayRequest {
  purpose: string;
  /** Only steps whose template has this version are compared; null for all of them, each in the version that it is bound to. */
  from: number | null;
  /** The version they are compared with, by template name: published, or a candidate. Null where there is none of that name. */
  target: (name: string) => Promise<TemplateVersion | null>;
  /** Epoch milliseconds of the acceptance; null leaves that side open. */
  sinceAt: number | null;
  untilAt: number | null;
  /** Senders of the deployment, for notifications from before theirs was kept. */
  senders: readonly Engine['sender'][];
}

export type Replay = { kind: 'message'; message: Replayed } | { kind: 'passed_over'; why: 'destroyed' | 'no_address' | 'not_compared' };

const PAGE = 100;

const replayOne = async function* (engine: Engine, loaded: Loaded, request: ReplayRequest): AsyncGenerator<Replay> {
  const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
  for (const [index, step] of bound.policy.steps.entries()) {
    const old = bound.templates.get(templateKey(step.template, step.templateVersion));
    const target = old && (request.from ?? old.version) === old.version ? await request.target(step.template) : null;
    if (!old || !target) {
      yield { kind: 'passed_over', why: 'not_compared' };
      continue;
    }
    if (loaded.variables === null) {
      yield { kind: 'passed_over', why: 'destroyed' };
      continue;
    }
    if (loaded.recipient && openPart<Addresses>(engine.ring, loaded.eventId, 'recipient', loaded.recipient)[step.channel] === null) {
      yield { kind: 'passed_over', why: 'no_address' };
      continue;
    }
    // The newest try; a step that nobody has needed so far is rendered as its first one would have been.
    const attempt = loaded.state.attempts.findLast((one) => one.step === index);
    const side = { engine, loaded, step, attemptKey: attempt?.key ?? attemptKeyOf(loaded.eventId, step.channel, 1), plannedAt: attempt?.plannedAt ?? loaded.requestedAt };
    yield { kind: 'message', message: replayMessage(side, { old, target, senders: request.senders, recordedHash: attempt?.renderHash ?? null }) };
  }
};

/** The published target of each template, read once. */
export const publishedTarget = (engine: Engine, version: number): ReplayRequest['target'] => {
  const known = new Map<string, Promise<unknown>>();
  return async (name) => {
    const found = known.get(name) ?? loadTemplate(engine.db, name, version);
    known.set(name, found);
    return (await found) as TemplateVersion | null;
  };
};

/**
 * Renders the captured notifications of a purpose, newest first, in the version they are bound to and in another one, and compares. A page is
 * held at a time. What was destroyed, has no address, or is bound to another version is counted and passed over. Nothing is written.
 */
export const replayRender = async function* (engine: Engine, request: ReplayRequest): AsyncGenerator<{ eventId: string; found: Replay[] }> {
  const range = { purpose: request.purpose, from: lowestEventId(request.sinceAt ?? 0), below: request.untilAt === null ? HIGHEST_EVENT_ID : lowestEventId(request.untilAt) };
  for await (const page of streamCaptured(engine.db, range, PAGE)) {
    for (const loaded of page) {
      const found: Replay[] = [];
      for await (const one of replayOne(engine, loaded, request)) found.push(one);
      yield { eventId: loaded.eventId, found };
    }
  }
};
