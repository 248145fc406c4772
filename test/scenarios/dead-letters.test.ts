import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { surveyRisks } from '../../shared/delivery/at-risk.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { countOpenRequests } from '../../shared/ledger/dead-letter-requests.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { boardRule } from '../../services/dashboard/board.ts';
import { reasonCookie } from '../../services/dashboard/operator-session.ts';
import { run } from '../cli/support.ts';
import { expectAnswers } from '../support/answers.ts';
import { describeOnBackends } from '../support/backends.ts';
import { shippedPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const MANY = 1_000;

/** Both tried once, so that where the provider cannot be reached the SMS is a dead letter at once: alone, and with an email to follow. */
const policies = (): Policy[] => {
  const urgent = shippedPolicies().find((policy) => policy.purpose === 'game-support-urgent') as Policy;
  const steps = urgent.steps.map((step) => ({ ...step, transportRetry: { ...step.transportRetry, maxSubmissions: 1 } }));
  return [{ ...urgent, steps: steps.slice(0, 1) }, { ...urgent, purpose: 'with-a-fallback', steps }];
};

describeOnBackends('dead letters', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend, policies: policies(), startAt: Date.now() }); });
  afterAll(() => world.close());

  const number = async (text: string): Promise<number> => Number((await world.ask(text))[0]?.['count']);
  const open = () => number('SELECT count(*) FROM dead_letter WHERE resolved_at IS NULL');
  const onBoard = async (): Promise<number> => (await world.queue.counts())['sms-dead-letter'].failed;
  /** Looks again each time that the coordinator has attended to dead letters, which is what moves them. */
  const until = async (holds: () => Promise<boolean>): Promise<void> => {
    while (!(await holds())) await world.coordinator.attendDeadLetters();
  };
  const tocsin = (line: string[]) => run(['dead-letters', ...line], {
    env: { DATABASE_URL: world.databaseUrl, TOCSIN_KEYS: world.keys },
    wait: () => world.coordinator.attendDeadLetters(),
  });
  const die = async (count: number, purpose = 'game-support-urgent'): Promise<string[]> => {
    const before = await open();
    await world.sandbox.setOutage('sms', 'closed', 3_600_000);
    const events = await Promise.all(Array.from({ length: count }, () => world.accept('01', { purpose })));
    await until(async () => await open() === before + count);
    await world.sandbox.setOutage('sms', 'off');
    return events;
  };
  const idOf = async (eventId: string): Promise<string> => String((await world.ask('SELECT id FROM dead_letter WHERE event_id = $1', [eventId]))[0]?.['id']);
  /** What the board asks before it carries out a call of an operator who stated a reason. */
  const fromBoard = (method: string, route: string, params: Record<string, string>) => {
    const cookie = reasonCookie(world.engine.ring, { reason: 'incident', user: 'operator', at: world.now() }).split(';')[0] as string;
    const rule = boardRule({ engine: world.engine, queue: world.queue, who: () => ({ user: 'operator', role: 'operator' }) });
    return rule({ method, route, request: { params: { queueName: 'sms-dead-letter', ...params }, headers: { cookie } } });
  };
  const explained = async (eventId: string): Promise<string> =>
    (await run(['explain', eventId, '--json'], { env: { DATABASE_URL: world.databaseUrl } })).out;
  const received = (eventId: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(eventId));

  test('a thousand of one cause are drained by one command; again, and from the board meanwhile, sends nothing twice', async () => {
    const events = await die(MANY);
    await until(async () => await onBoard() === MANY);
    const listed = JSON.parse((await tocsin(['list', '--cause', 'retries_exhausted', '--channel', 'sms', '--limit', '3', '--json'])).out) as { total: number; dead_letters: unknown[] };
    expect(listed.total).toBe(MANY);
    expect(listed.dead_letters).toHaveLength(3);
    const line = ['--all', '--cause', 'retries_exhausted', '--reason', 'the provider had been away', '--actor', 'oncall-01'];
    const preview = await tocsin(['retry', ...line]);
    expect(preview).toMatchObject({ code: 0, err: '' });
    expect(preview.out).toMatch(new RegExp(`retried +${MANY}\n\nNothing was done yet`));
    expect(await open()).toBe(MANY);

    const answers = await Promise.all([
      tocsin(['retry', ...line, '--yes', '--json']), tocsin(['retry', ...line, '--yes', '--json']),
      fromBoard('put', '/api/queues/:queueName/retry/:queueStatus', { queueStatus: 'failed' }),
    ]);
    const results = (answers[0].out + answers[1].out).match(/"retried":(\d+)/g) ?? [];
    expect(results.length).toBeGreaterThan(0);
    expect(answers[2]).toBeUndefined();
    await until(async () => await open() === 0 && await onBoard() === 0);
    for (const eventId of events) await world.until(eventId, (state) => state.attempts[1]?.state === 'submitted' || state.attempts[1]?.state === 'delivered');
    expect(world.sandbox.duplicates()).toEqual([]);
    expect(world.sandbox.duplicateEvents()).toEqual([]);
    expect(world.sandbox.messages().filter((message) => message.attempt_key?.endsWith('.sms.2'))).toHaveLength(MANY);
    expect((await tocsin(['retry', ...line, '--yes'])).out).toBe('No dead letter fits.\n');
    expect(await number("SELECT count(*) FROM dead_letter_request WHERE result <> 'retried'")).toBe(0);
    expect(await number("SELECT count(*) FROM ledger_entry WHERE kind = 'OperatorRetried'")).toBe(MANY);
  }, 120_000);

  test('one that is closed or expired leaves the list and the board by itself, also where its notification had settled before', async () => {
    const [closed, late] = await die(2) as [string, string];
    await closeNotification(world.engine, { tenant: null, eventId: closed, reason: 'taken', actor: 'test', requestId: 'close' });
    expect(await world.ask('SELECT resolution FROM dead_letter WHERE event_id = $1', [closed])).toEqual([{ resolution: 'closed' }]);
    const stands = () => world.ask('SELECT resolution, projected FROM dead_letter WHERE event_id = $1', [late]);
    await until(async () => (await stands())[0]?.['projected'] === true);
    expect((await world.engine.load(late))?.state.settledAt).not.toBeNull();
    expect(await stands()).toEqual([{ resolution: null, projected: true }]);
    world.jump(16 * 60_000);
    await until(async () => (await stands())[0]?.['projected'] === false);
    expect(await stands()).toEqual([{ resolution: 'expired', projected: false }]);
    expect(await world.kinds(late)).not.toContain('NotificationExpired');
    expect(await explained(late)).toMatch(/it stopped, and it waited for an operator until \S+, when the notification expired.*it was a dead letter until \S+, when the notification expired\./);
    for (const eventId of [closed, late]) expect(received(eventId)).toEqual([]);
  }, 60_000);

  test('one whose email is under way is refused, stays, and is retried where the operator takes a duplicate upon himself', async () => {
    const [eventId] = await die(1, 'with-a-fallback') as [string];
    await world.until(eventId, (state) => state.attempts[1]?.state === 'submitted');
    const id = await idOf(eventId);
    // Already the preview ends so, where nothing at all would come of it.
    expect(await tocsin(['retry', id, '--reason', 'checked'])).toMatchObject({ code: 1, out: expect.stringContaining('refused: ') });
    const refused = await tocsin(['retry', id, '--reason', 'checked', '--yes']);
    expect([refused.code, refused.out]).toEqual([1, expect.stringMatching(/refused: superseded +1/)]);
    expect(await world.ask('SELECT resolution, showing FROM dead_letter WHERE event_id = $1', [eventId])).toEqual([{ resolution: null, showing: 0 }]);
    expect(await tocsin(['retry', id, '--reason', 'checked', '--accept-duplicate', '--yes'])).toMatchObject({ code: 0 });
    await world.until(eventId, (state) => state.attempts[2]?.state === 'submitted' || state.attempts[2]?.state === 'delivered');
    expect(received(eventId).map((message) => message.attempt_key).sort()).toEqual([`${eventId}.email.1`, `${eventId}.sms.2`]);
    await expectAnswers(world, eventId, 'dead-letters/retried-beside-the-email');
  });

  test('a discard takes it off the list and the board, with who and why, and sends nothing', async () => {
    const [eventId] = await die(1) as [string];
    const id = await idOf(eventId);
    const next = async () => (await surveyRisks(world.engine, { also: [eventId] })).rows.filter((row) => row.eventId === eventId).map(({ action }) => action);
    expect(await next()).toEqual(['retry_dead_letter']);
    expect(await explained(eventId)).toMatch(/it stopped, and it waits for an operator.*it is a dead letter that an operator must look at\./);
    expect(await tocsin(['discard', id, '--reason', 'over', '--yes'])).toMatchObject({ code: 0 });
    expect(await next()).toEqual(['reach_otherwise']);
    expect(await explained(eventId)).toMatch(/it stopped, and it waited for an operator until \S+, when an operator discarded it.*it was a dead letter until \S+, when an operator discarded it\./);
    const shown = await tocsin(['show', id]);
    expect(shown.out).toMatch(/state +discarded at/);
    expect(shown.out).toMatch(/discard +cli +over +discarded/);
    expect(received(eventId)).toEqual([]);
    expect(await world.kinds(eventId)).not.toContain('OperatorRetried');
  });

  test('one that cannot be carried out is told as failed, holds up no other, and can still be discarded', async () => {
    const [broken, sound] = await die(2) as [string, string];
    const ids = [await idOf(broken), await idOf(sound)];
    await world.ask("INSERT INTO dead_letter_request (dead_letter_id, action, actor, reason, key_id, box, requested_at) VALUES ($1, 'retry', 'test', 'other', 'k9', '\\x00', now()), ($2, 'retry', 'test', 'checked', NULL, NULL, now())", ids);
    await until(async () => (await countOpenRequests(world.engine.db, ids)) === 0);
    const resultOf = async (id: string) => (await world.ask('SELECT result FROM dead_letter_request WHERE dead_letter_id = $1', [id]))[0]?.['result'];
    expect([await resultOf(ids[0] as string), await resultOf(ids[1] as string)]).toEqual(['failed', 'retried']);
    expect(await tocsin(['discard', String(ids[0]), '--reason', 'over', '--yes'])).toMatchObject({ code: 0 });
    expect(await world.ask('SELECT resolution FROM dead_letter WHERE event_id = $1', [broken])).toEqual([{ resolution: 'discarded' }]);
  });

  test('after a flush of the queue the board is made again from the rows', async () => {
    await die(2);
    const before = await open();
    await until(async () => await onBoard() === before);
    const jobs = await world.ask('SELECT id, showing FROM dead_letter');
    // One that has ended leaves the board in its own time, and may stand there in place of one that is still to come.
    await until(async () => {
      await world.queue.removeJobs('sms-dead-letter', jobs.map((job) => `dead-letter-${String(job['id'])}-s${String(job['showing'])}`));
      return await onBoard() === 0;
    });
    world.pause(16_000);
    await until(async () => await onBoard() === before);
  });
});
