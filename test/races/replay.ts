import { expect, test } from '@jest/globals';
import { attemptKeyOf } from '../../shared/domain/words.ts';
import { attemptJobId } from '../../shared/queue/queue-names.ts';
import type { Arena } from './arena.ts';
import type { Held } from './messages.ts';
import { bothHeld, countOf, gaplessEntries, ranked, reloadOf } from './race.ts';

const REPLAYED = 'replayed';
const kindsOf = (told: { eventId: string; kinds: string[] }, eventId: string, kind: string): boolean => told.eventId === eventId && told.kinds.includes(kind);

interface Late { eventId: string; key: string; first: Held }

/**
 * A worker in A has its answer and has not recorded it yet; meanwhile B's coordinator books the submission as unknown. A still
 * stands on the version before that.
 */
const lateAnswer = async (arena: Arena): Promise<Late> => {
  const { a, b } = arena;
  const eventId = arena.mint();
  await a.gate({ eventId, kind: 'SubmissionAccepted', times: 2 });
  await a.start({ part: 'email' });
  await arena.accept(eventId, 'email', [{ submit: 'accept' }]);
  const first = await a.holds(eventId);
  await b.start({ part: 'coordinator' });
  await arena.moveTo((await arena.state(eventId)).attempts[0]?.outcomeDueAt as number);
  await b.tells('appended', (told) => kindsOf(told, eventId, 'SubmissionOutcomeUnknown'));
  await b.stopParts();
  return { eventId, key: attemptKeyOf(eventId, 'email', 1), first };
};

/** An operator replays an unknown attempt of which a worker is alive and has the answer. */
export const racesOfReplays = (open: () => Arena): void => {
  test('an operator who replays an unknown attempt, and its live worker with the late answer: whoever loses reloads, and there is one call', async () => {
    const arena = open();
    const { a, b } = arena;
    const { eventId, key, first } = await lateAnswer(arena);
    await b.gate({ eventId, kind: 'OperatorRetried', times: 1 });
    const answer = b.retry(key, { actor: 'operator', requestId: `replay-${eventId}` });
    await a.release();

    const sides = await bothHeld(arena, eventId, { a: 2, b: 1 });
    expect(sides[0].held.requestId).toBe(`${first.requestId}+reloaded-from-v${first.decidedOn}`);
    await arena.release();

    const { winner, reload } = await ranked(arena, sides);
    await a.tells('appended', (told) => kindsOf(told, eventId, 'SubmissionAccepted'));
    if (winner.racer === b) {
      // The replay's job comes while the answer is being recorded, and finds the ledger ahead of it.
      await a.tells('finished', ({ jobId }) => jobId === attemptJobId(key, 2));
      expect([reload.cameTo, await answer]).toEqual([['SubmissionAccepted'], { kind: 'retried', means: 'replay', attempt: key }]);
    } else {
      expect([reload.cameTo, await answer]).toEqual([[], { kind: 'refused', refusal: 'still_live' }]);
    }
    const entries = await gaplessEntries(arena, eventId);
    expect([countOf(entries, 'SubmissionStarted'), countOf(entries, 'SubmissionAccepted'), arena.calls(key)]).toEqual([1, 1, 1]);
  });

  /** The replay's own worker in B stands on the same version as the worker with the late answer in A. */
  const replayAgainstAnswer = async (arena: Arena) => {
    const { a, b } = arena;
    const { eventId, key } = await lateAnswer(arena);
    await b.gate({ eventId, kind: 'SubmissionStarted', times: 1 });
    await b.start({ part: 'email' });
    expect(await b.retry(key, { actor: 'operator', requestId: `replay-${eventId}` })).toEqual({ kind: 'retried', means: 'replay', attempt: key });
    await b.holds(eventId);
    await a.release();
    return { eventId, key, sides: await bothHeld(arena, eventId, { a: 2, b: 1 }) };
  };

  test('the replay\'s worker and the late answer: where the answer comes first the replay reloads and makes no call', async () => {
    const arena = open();
    const { eventId, key, sides: [answer, replay] } = await replayAgainstAnswer(arena);
    await answer.racer.release();
    await answer.racer.tells('appended', (told) => kindsOf(told, eventId, 'SubmissionAccepted'));
    await replay.racer.release();

    expect(await reloadOf(arena, replay)).toMatchObject({ found: replay.held.decidedOn + 1, cameTo: [] });
    await replay.racer.tells('finished', ({ jobId }) => jobId === attemptJobId(key, 2));
    const entries = await gaplessEntries(arena, eventId);
    expect([countOf(entries, 'SubmissionStarted'), countOf(entries, 'SubmissionAccepted'), arena.calls(key)]).toEqual([1, 1, 1]);
  });

  test('the replay\'s worker and the late answer: where the replay comes first the answer is kept as late, and the provider drops the repeated key', async () => {
    const arena = open();
    const { eventId, key, sides: [answer, replay] } = await replayAgainstAnswer(arena);
    // Its own answer is held back, or the late one might lose once more, to that.
    await replay.racer.gate({ eventId, kind: 'SubmissionAccepted', times: 1 });
    await replay.racer.release();
    await replay.racer.tells('appended', (told) => kindsOf(told, eventId, 'SubmissionStarted'));
    await answer.racer.release();

    expect((await reloadOf(arena, answer)).cameTo).toEqual(['StatusObserved']);
    await replay.racer.tells('held', (told) => told.eventId === eventId && told.kinds.includes('SubmissionAccepted'));
    await replay.racer.release();
    await replay.racer.tells('appended', (told) => kindsOf(told, eventId, 'SubmissionAccepted'));
    const entries = await gaplessEntries(arena, eventId);
    expect([countOf(entries, 'SubmissionStarted'), countOf(entries, 'SubmissionAccepted')]).toEqual([2, 1]);
    expect(arena.sandbox.messages({ attemptKey: key })).toHaveLength(1);
    expect(arena.sandbox.refused({ attemptKey: key }).map(({ behaviour }) => behaviour)).toEqual([REPLAYED]);
  });
};
