import type { OriginAnswer, OriginClient } from '../../shared/transports/origin/client.ts';
import type { Workflow } from './plan.ts';
import type { Process, Surroundings } from './process.ts';
import { call, waitIn } from './process.ts';

/** What an origin system answered, and when it did: its own book. */
export interface OriginAnswered { at: number; answer: OriginAnswer['kind'] }

export interface SimulatedOrigins {
  clientOf: (process: Process) => OriginClient;
  said: (eventId: string) => readonly OriginAnswered[];
}

/** The product gives up then. */
const LIMIT_MS = 2_000;

/** The origin systems of all workflows. What was needed once and is no more stays so. */
export const createOrigins = ({ around, workflows, indexOf }: { around: Surroundings; workflows: readonly Workflow[]; indexOf: (eventId: string) => number }): SimulatedOrigins => {
  const books = new Map<string, { first: number; answers: OriginAnswered[] }>();
  const answer = (eventId: string): OriginAnswer => {
    const says = workflows[indexOf(eventId)]?.origin;
    if (!says) throw new Error(`nobody is to be asked about ${eventId}`);
    const { now } = around.scheduler;
    const book = books.get(eventId) ?? { first: now, answers: [] };
    books.set(eventId, book);
    const over = says.noAfterMs !== null && now >= book.first + says.noAfterMs;
    const given: OriginAnswer = book.answers.length < says.errors ? { kind: 'error', fault: 'http_status' } : { kind: over ? 'not_needed' : 'needed' };
    book.answers.push({ at: now, answer: given.kind });
    around.trace(`the origin of ${eventId} says ${given.kind}`);
    return given;
  };
  return {
    clientOf: (process) => ({
      ask: async ({ eventId }) => {
        const slowMs = workflows[indexOf(eventId)]?.origin?.slowMs ?? 0;
        const given = await call(around, process, { boundary: 'ask', of: 'queue' }, () => answer(eventId));
        await waitIn(around, process, Math.min(slowMs, LIMIT_MS));
        return slowMs > LIMIT_MS ? { kind: 'error', fault: 'timeout' } : given;
      },
      close: () => undefined,
    }),
    said: (eventId) => books.get(eventId)?.answers ?? [],
  };
};
