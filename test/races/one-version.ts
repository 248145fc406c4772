import { expect, test } from '@jest/globals';
import { attemptKeyOf } from '../../shared/domain/words.ts';
import { attemptJobId } from '../../shared/queue/queue-names.ts';
import type { Arena } from './arena.ts';
import { bothHeld, countOf, gaplessEntries, ranked } from './race.ts';

/** Both processes have loaded the same version and decided on it; then both append. */
export const racesOnOneVersion = (open: () => Arena): void => {
  test('two workers with one job under two ids: one starts the submission, the other reloads and makes no call', async () => {
    const arena = open();
    await Promise.all([arena.a.start({ part: 'sms' }), arena.b.start({ part: 'sms' })]);
    const eventId = arena.mint();
    await arena.gate({ eventId, kind: 'SubmissionStarted', times: 1 });
    await arena.accept(eventId, 'sms', [{ submit: 'accept' }, { status: 'never' }]);
    const key = attemptKeyOf(eventId, 'sms', 1);
    await arena.queue.addJobs('sms', [{ id: attemptJobId(key, 2), name: 'attempt', payload: { eventId, channel: 'sms', sequence: 1 } }]);

    const sides = await bothHeld(arena, eventId);
    const jobs = sides.map(({ racer }) => racer.told('took').find(({ jobId }) => jobId.startsWith(key))?.jobId);
    expect(jobs.sort()).toEqual([attemptJobId(key, 1), attemptJobId(key, 2)]);
    await arena.release();

    const { winner, loser, reload } = await ranked(arena, sides);
    await Promise.all(sides.map(({ racer }) => racer.tells('finished', ({ jobId }) => jobId.startsWith(key))));
    expect(reload.cameTo).toEqual([]);
    expect(loser.racer.told('logged').map(({ line }) => line)).toContainEqual(expect.objectContaining({ event: 'submission.refused', attempt: key, refusal: 'already_started' }));
    const entries = await gaplessEntries(arena, eventId);
    expect([countOf(entries, 'SubmissionStarted'), countOf(entries, 'SubmissionAccepted'), arena.calls(key)]).toEqual([1, 1, 1]);
    expect(entries.find(({ kind }) => kind === 'SubmissionAccepted')?.actor).toBe(winner.held.actor);
  });

  test('two coordinators at one deadline: one claims the email, the other reloads and claims nothing; one call on the fallback', async () => {
    const arena = open();
    await arena.a.start({ part: 'sms' });
    const eventId = arena.mint();
    await arena.accept(eventId, 'sms', [{ submit: 'accept' }, { status: 'never' }]);
    await arena.a.tells('appended', (told) => told.eventId === eventId && told.kinds.includes('SubmissionAccepted'));
    await Promise.all([arena.a.start({ part: 'coordinator' }, { part: 'email' }), arena.b.start({ part: 'coordinator' }, { part: 'email' })]);
    // The final poll is made before the deadline: the claim then rests on fresh evidence, and no poll is due beside it.
    const deadline = (await arena.state(eventId)).attempts[0]?.decisionDeadlineAt as number;
    await arena.moveTo(deadline - 1_900);
    await Promise.race([arena.a, arena.b].map((racer) => racer.tells('appended', (told) => told.eventId === eventId && told.kinds.includes('StatusObserved'))));
    await arena.gate({ eventId, kind: 'FallbackClaimed', times: 1 });
    // Both heartbeats see that no sweep has finished for two seconds, and sweep.
    await arena.moveTo(deadline + 200);

    const sides = await bothHeld(arena, eventId);
    expect(sides.map(({ held }) => held.kinds[0])).toEqual(['FallbackClaimed', 'FallbackClaimed']);
    await arena.release();

    const { winner, loser, reload } = await ranked(arena, sides);
    const email = attemptKeyOf(eventId, 'email', 1);
    await Promise.race(sides.map(({ racer }) => racer.tells('appended', (told) => told.eventId === eventId && told.requestId.startsWith(`submit-${email}`))));
    expect(reload.cameTo).toEqual([]);
    expect([winner.held.actor, loser.held.actor].sort()).toEqual([`coordinator-${arena.a.pid}`, `coordinator-${arena.b.pid}`].sort());
    const entries = await gaplessEntries(arena, eventId);
    expect([countOf(entries, 'FallbackClaimed'), countOf(entries, 'AttemptPlanned'), countOf(entries, 'SubmissionStarted')]).toEqual([1, 2, 2]);
    expect([arena.calls(attemptKeyOf(eventId, 'sms', 1)), arena.calls(email)]).toEqual([1, 1]);
  });

  test('two operators who retry one failure: one plans the next attempt, the other reloads and is refused; one call', async () => {
    const arena = open();
    await arena.a.start({ part: 'email' });
    const eventId = arena.mint();
    await arena.accept(eventId, 'email', [{ submit: 'reject' }, { submit: 'accept' }]);
    const [first, second] = [attemptKeyOf(eventId, 'email', 1), attemptKeyOf(eventId, 'email', 2)];
    await arena.a.tells('appended', (told) => told.eventId === eventId && told.kinds.includes('AttemptRejected'));
    await arena.gate({ eventId, kind: 'OperatorRetried', times: 1 });
    const answers = [arena.a, arena.b].map((racer, index) => racer.retry(first, { actor: `operator-${index}`, requestId: `retry-${index}-${eventId}` }));

    const sides = await bothHeld(arena, eventId);
    await arena.release();

    const { winner } = await ranked(arena, sides);
    const told = await Promise.all(answers);
    expect(told.filter(({ kind }) => kind === 'retried')).toEqual([{ kind: 'retried', means: 'new_attempt', attempt: second }]);
    expect(told.filter(({ kind }) => kind === 'refused')).toEqual([{ kind: 'refused', refusal: 'not_newest' }]);
    await arena.a.tells('appended', (one) => one.eventId === eventId && one.requestId.startsWith(`submit-${second}`));
    const entries = await gaplessEntries(arena, eventId);
    expect(entries.find(({ kind }) => kind === 'OperatorRetried')?.actor).toBe(winner.held.actor);
    expect([countOf(entries, 'OperatorRetried'), arena.calls(first), arena.calls(second)]).toEqual([1, 1, 1]);
  });
};
