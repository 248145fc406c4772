import { expect, test } from '@jest/globals';
import { attemptKeyOf } from '../../shared/domain/words.ts';
import { attemptJobId } from '../../shared/queue/queue-names.ts';
import type { Arena } from './arena.ts';
import { countOf, gaplessEntries, reloadOf } from './race.ts';

/** So that a lost lock is found within a few seconds; the service's own outlasts a whole call. */
const LOCK_MS = 1_000;
/** Not in the provider's listing, so that only the worker's own answer can tell what became of the call. */
const UNLISTED = [{ submit: 'accept', answerAfterMs: 200 }, { status: 'never' }, { listed: false }];

/** B is given the job of the stopped A once its lock has lapsed, and finds the ledger ahead of it. */
const jobComesToB = async ({ a, b }: Arena, key: string): Promise<void> => {
  await b.start({ part: 'sms', lockDurationMs: LOCK_MS });
  const jobId = attemptJobId(key, 1);
  await b.tells('finished', (told) => told.jobId === jobId);
  expect(a.told('took').map((told) => told.jobId)).toContain(jobId);
  expect(a.told('finished').map((told) => told.jobId)).not.toContain(jobId);
  await b.tells('logged', ({ line }) => line['event'] === 'submission.refused' && line['attempt'] === key && line['refusal'] === 'already_started');
};

/** B's coordinator finds that the outcome is overdue, and books it as unknown. */
const bookedByB = async (arena: Arena, eventId: string): Promise<void> => {
  await arena.b.start({ part: 'coordinator' });
  await arena.moveTo((await arena.state(eventId)).attempts[0]?.outcomeDueAt as number);
  await arena.b.tells('appended', (told) => told.eventId === eventId && told.kinds.includes('SubmissionOutcomeUnknown'));
  await arena.b.stopParts();
};

/** A worker stands still in mid-send, loses its lock, and goes on as if nothing had been. */
export const racesOnALostLock = (open: () => Arena): void => {
  test('a worker stopped while its call is open: the job goes to another process, which makes no call; the first one reloads and records its answer', async () => {
    const arena = open();
    const { a, b } = arena;
    const eventId = arena.mint();
    const key = attemptKeyOf(eventId, 'sms', 1);
    await a.gate({ eventId, kind: 'SubmissionAccepted', times: 1 });
    await a.start({ part: 'sms', lockDurationMs: LOCK_MS });
    const called = new Promise<void>((resolve) => {
      const forget = arena.sandbox.onReceipt(({ attemptKey }) => {
        if (attemptKey !== key) return;
        a.signal('SIGSTOP');
        forget();
        resolve();
      });
    });
    await arena.accept(eventId, 'sms', UNLISTED);
    await called;
    await jobComesToB(arena, key);

    a.signal('SIGCONT');
    const held = await a.holds(eventId);
    await bookedByB(arena, eventId);
    await a.release();

    const reload = await reloadOf(arena, { racer: a, held });
    expect(reload.cameTo).toEqual(['SubmissionAccepted']);
    const entries = await gaplessEntries(arena, eventId);
    const unknown = entries.find(({ kind }) => kind === 'SubmissionOutcomeUnknown');
    expect([unknown?.actor, unknown?.version]).toEqual([`coordinator-${b.pid}`, held.decidedOn + 1]);
    expect(entries.filter(({ kind }) => kind === 'SubmissionStarted').map(({ actor }) => actor)).toEqual([`sms-${a.pid}`]);
    expect([countOf(entries, 'SubmissionAccepted'), arena.calls(key)]).toEqual([1, 1]);
  });

  test('a worker stopped between commit and call: it makes no call and says so after a reload, and the message is sent once, by the other', async () => {
    const arena = open();
    const { a, b } = arena;
    const eventId = arena.mint();
    const key = attemptKeyOf(eventId, 'sms', 1);
    await a.gate({ eventId, kind: 'SubmissionStarted', times: 1, stopAfterCommit: true }, { eventId, kind: 'SubmissionAbandoned', times: 1 });
    await a.start({ part: 'sms', lockDurationMs: LOCK_MS, submitStartWithinMs: 300 });
    await arena.accept(eventId, 'sms', UNLISTED);
    await a.tells('stopping', (told) => told.eventId === eventId);
    await jobComesToB(arena, key);

    a.signal('SIGCONT');
    const held = await a.holds(eventId);
    await bookedByB(arena, eventId);
    expect(arena.calls(key)).toBe(0);
    await a.release();

    const reload = await reloadOf(arena, { racer: a, held });
    expect(reload.cameTo).toEqual(['SubmissionAbandoned']);
    await a.stopParts();
    await b.start({ part: 'sms' });
    // It was to be tried again a moment later.
    await arena.moveTo(arena.now() + 10);
    await b.tells('appended', (told) => told.eventId === eventId && told.kinds.includes('SubmissionAccepted'));
    const entries = await gaplessEntries(arena, eventId);
    expect(entries.filter(({ kind }) => kind === 'SubmissionStarted').map(({ actor }) => actor)).toEqual([`sms-${a.pid}`, `sms-${b.pid}`]);
    expect(arena.calls(key)).toBe(1);
  });
};
