import type { PreconditionAnswer } from '../domain/precondition.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { OriginAnswer, OriginClient } from '../transports/origin/client.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { AskedOrigin, Engine } from './engine.ts';
import { openPart } from './payload.ts';
import { untilDatabaseIsBack } from './until-database-is-back.ts';

export interface OriginDesk {
  /** Asks, and records the answer; returns at once. */
  ask: (question: AskedOrigin) => void;
  /** Resolves once every question under way has its answer recorded. */
  idle: () => Promise<void>;
  close: () => Promise<void>;
}

const answerOf = async (engine: Engine, client: OriginClient | null, { eventId, wanted, askedUntil }: AskedOrigin): Promise<OriginAnswer> => {
  const sealed = await untilDatabaseIsBack(engine, () => engine.ledger.preconditionOf(eventId));
  let url: string;
  try {
    if (sealed === null) return { kind: 'error', fault: 'url_lost' };
    ({ url } = openPart<{ url: string }>(engine.ring, eventId, 'precondition', sealed));
  } catch {
    return { kind: 'error', fault: 'url_lost' };
  }
  return client === null ? { kind: 'error', fault: 'url_not_allowed' } : client.ask({ eventId, url, wanted, notAfter: askedUntil });
};

/**
 * Asks origin systems whether anything still needs to be done, and appends what they say. The question stands in the ledger before it
 * is put; where this process dies in between, it lapses as an error. `client` is null where no origin may be asked.
 */
export const createOriginDesk = ({ engine, client, actor }: { engine: Engine; client: OriginClient | null; actor: string }): OriginDesk => {
  const underWay = new Set<Promise<void>>();
  const ask = async (question: AskedOrigin): Promise<void> => {
    const { eventId, askedUntil, wanted } = question;
    const answer = await answerOf(engine, client, question);
    const fault = answer.kind === 'error' ? answer.fault : undefined;
    engine.metrics.preconditionAnswers.inc({ wanted, answer: answer.kind, reason: fault ?? 'none' });
    if (fault !== undefined) engine.log.warn({ event: EVENTS.originFailed, event_id: eventId, wanted, reason: fault });
    await untilDatabaseIsBack(engine, (doubts) => decideAndAppend(engine, eventId, {
      doubts,
      provenance: { actor, requestId: `ask-${eventId}-${askedUntil}` },
      command: () => ({ kind: 'record_precondition', answer: answer.kind satisfies PreconditionAnswer, askedUntil, fault }),
    }));
  };
  const idle = async (): Promise<void> => { while (underWay.size > 0) await Promise.all(underWay); };
  return {
    ask: (question) => {
      const asking = ask(question)
        .catch((error: unknown) => engine.log.error({ event: EVENTS.decisionFailed, event_id: question.eventId, error: (error as Error).name }))
        .finally(() => underWay.delete(asking));
      underWay.add(asking);
    },
    idle,
    close: async () => {
      await idle();
      client?.close();
    },
  };
};
