import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { run } from '../cli/support.ts';
import { ask } from '../intake/rig.ts';
import type { Answer } from '../intake/rig.ts';
import { describeOnBackends } from '../support/backends.ts';
import { signIn } from '../support/sign-in.ts';
import type { Signed } from '../support/sign-in.ts';
import { shippedPolicies, silentLog } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { faultsOf, within } from './support.ts';

/** The SMS alone, tried once: where the provider cannot be reached it is a dead letter at once. */
const smsOnce = (): Policy[] => shippedPolicies().map((policy) => ({ ...policy, steps: policy.steps.slice(0, 1).map((step) => ({ ...step, transportRetry: { ...step.transportRetry, maxSubmissions: 1 } })) }));

const QUEUE = 'sms-dead-letter';
const SENTENCE = 'told by phone +12025550147, pin 482913';
interface Tab { statuses: string[]; jobs: { id: string; isFailed: boolean }[]; counts: Record<string, number>; readOnlyMode: boolean; allowRetries: boolean }

describeOnBackends('the board', (backend) => {
  let world: World;
  let dashboard: RunningDashboard;
  beforeAll(async () => {
    world = await openWorld({ backend, policies: smsOnce() });
    dashboard = await startDashboard({ engine: world.engine, queue: world.queue, log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used-here' } } });
  }, 60_000);
  afterAll(async () => {
    await dashboard?.close();
    await world?.close();
  });

  const tocsin = (line: string[], stdin = '') => run(line, { env: { DATABASE_URL: world.databaseUrl, TOCSIN_KEYS: world.keys }, stdin });
  const join = async (name: string, role: string): Promise<Signed> => {
    const added = await tocsin(['operator', 'add', name, '--role', role], 'four words of mine\n');
    if (added.code !== 0) throw new Error(added.err);
    return signIn(dashboard.url, name, 'four words of mine');
  };
  const until = (holds: () => Promise<boolean>): Promise<void> => within((async () => { while (!(await holds())) await world.coordinator.attendDeadLetters(); })());
  const idOf = async (eventId: string): Promise<string> => String((await world.ask('SELECT id FROM dead_letter WHERE event_id = $1', [eventId]))[0]?.['id']);
  const onBoard = async (): Promise<number> => (await world.queue.counts())[QUEUE].failed;
  /** So many dead letters, the oldest first: the provider wants none of them now, and takes them later. */
  const die = async (count: number): Promise<string[]> => {
    const before = await onBoard();
    const events: string[] = [];
    for (let one = 0; one < count; one += 1) {
      events.push(await faultsOf(world).send({ sms: [{ submit: 'throttle' }, { submit: 'accept' }, { status: 'delivered' }] }));
      await until(async () => (await idOf(events.at(-1) as string)) !== 'undefined');
    }
    await until(async () => await onBoard() === before + count);
    return events;
  };
  const call = (who: Signed, method: string, path: string, reason = ''): Promise<Answer> =>
    ask(`${dashboard.url}/queues/api${path}`, { method, headers: { Cookie: `${who.cookie}${reason}`, Origin: dashboard.url, 'Content-Type': 'application/json' }, ...(method === 'GET' ? {} : { body: '{}' }) });
  const tab = async (who: Signed, status: string): Promise<Tab> => {
    const { body } = await call(who, 'GET', `/queues?activeQueue=${QUEUE}&status=${status}&page=1&jobsPerPage=10`);
    return (body['queues'] as (Tab & { name: string })[]).find(({ name }) => name === QUEUE) as Tab;
  };
  const stateReason = async (who: Signed): Promise<string> => {
    const { headers } = await ask(`${dashboard.url}/reason`, { method: 'POST', redirect: 'manual', headers: { ...who.headers, 'Content-Type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams({ reason: SENTENCE }).toString() });
    return `; ${String(headers.get('set-cookie')).split(';')[0]}`;
  };
  const requests = () => world.ask('SELECT count(*)::int AS count FROM dead_letter_request');

  test('fault 37: a dead letter is retried from any tab that shows it, newest first, without a secret, and by nobody who may only read', async () => {
    const operator = await join('olga', 'operator');
    const viewer = await join('vera', 'viewer');
    const events = await die(4);
    // Made again after a flush: many fail at once, in whatever order.
    await world.queue.removeJobs(QUEUE, await Promise.all(events.map(async (eventId) => `dead-letter-${await idOf(eventId)}-s0`)));
    world.pause(16_000);
    await until(async () => await onBoard() === 4);
    const newestFirst = (await Promise.all(events.map(async (eventId) => `dead-letter-${await idOf(eventId)}-s0`))).reverse();

    const shown = await tab(operator, 'latest');
    const filled: string[] = [];
    for (const status of shown.statuses) {
      const { jobs, readOnlyMode, allowRetries } = await tab(operator, status);
      expect([status, readOnlyMode, allowRetries]).toEqual([status, false, true]);
      if (jobs.length > 0) filled.push(status);
      if (jobs.length > 0) expect([status, jobs.map(({ id }) => id)]).toEqual([status, newestFirst]);
      // The board's page has Retry beside whatever failed, on whichever tab.
      expect(jobs.every(({ isFailed }) => isFailed)).toBe(true);
    }
    expect(filled).toEqual(['latest', 'failed']);

    const reason = await stateReason(operator);
    const his = await stateReason(viewer);
    for (const path of [`/queues/${QUEUE}/${newestFirst[0]}/retry`, `/queues/${QUEUE}/${newestFirst[0]}/clean`, `/queues/${QUEUE}/retry/failed`]) {
      expect([path, (await call(viewer, 'PUT', path, his)).status, (await call(viewer, 'PUT', path, reason)).status, (await call(operator, 'PUT', path)).status]).toEqual([path, 403, 403, 403]);
    }
    expect(await requests()).toEqual([{ count: 0 }]);

    const first = events.at(-1) as string;
    expect((await call(operator, 'PUT', `/queues/${QUEUE}/${newestFirst[0]}/retry`, reason)).status).toBe(204);
    await within(world.until(first, (state) => state.attempts[1]?.state === 'submitted' || state.attempts[1]?.state === 'delivered'));
    expect((await call(operator, 'PUT', `/queues/${QUEUE}/retry/failed`, reason)).status).toBe(200);
    for (const eventId of events) await within(world.until(eventId, (state) => state.attempts[1]?.state === 'submitted' || state.attempts[1]?.state === 'delivered'));
    await until(async () => await onBoard() === 0);
    const sent = world.sandbox.messages().map(({ attempt_key }) => attempt_key).filter((key) => key?.endsWith('.sms.2')).sort();
    expect(sent).toEqual(events.map((eventId) => `${eventId}.sms.2`).sort());

    const answers = await Promise.all([...shown.statuses.map((status) => call(operator, 'GET', `/queues?activeQueue=${QUEUE}&status=${status}&page=1`)), call(operator, 'GET', `/queues/${QUEUE}/${newestFirst[1]}`)]);
    const kept = await world.ask('SELECT (SELECT string_agg(l::text, \' \') FROM ledger_entry l) AS ledger, (SELECT string_agg(r::text, \' \') FROM dead_letter_request r) AS requests, (SELECT string_agg(d::text, \' \') FROM dead_letter d) AS dead');
    for (const text of [JSON.stringify(shown), ...answers.map((answer) => answer.text), JSON.stringify(kept)]) expect(text).not.toMatch(/482913|told by phone|202555|@example\.com|locked out/);
  }, 60_000);

  test('fault 38: several operators, each under a name and a role of his own, which count at once; and nothing of it is to be paid for', async () => {
    const [ada, omar, vic] = [await join('ada', 'admin'), await join('omar', 'operator'), await join('vic', 'viewer')];
    const [eventId] = await die(1) as [string];
    const path = `/queues/${QUEUE}/dead-letter-${await idOf(eventId)}-s0/retry`;
    for (const who of [ada, omar, vic]) expect((await call(who, 'GET', '/queues')).status).toBe(200);
    expect((await call(vic, 'PUT', path, await stateReason(vic))).status).toBe(403);
    for (const [who, status] of [[vic, 403], [omar, 403], [ada, 200]] as const) expect((await ask(`${dashboard.url}/audit`, { headers: who.headers })).status).toBe(status);

    expect((await call(omar, 'PUT', path, await stateReason(omar))).status).toBe(204);
    expect(await world.ask('SELECT r.actor FROM dead_letter_request r JOIN dead_letter l ON l.id = r.dead_letter_id WHERE l.event_id = $1', [eventId])).toEqual([{ actor: 'omar' }]);
    await within(world.until(eventId, (state) => state.attempts.length > 1));
    expect(await world.ask("SELECT actor FROM ledger_entry WHERE event_id = $1 AND kind = 'OperatorRetried'", [eventId])).toEqual([{ actor: 'omar' }]);
    expect(await world.ask("SELECT DISTINCT actor, role FROM audit_entry WHERE action IN ('reason.state', 'dead_letter.retry', 'audit.read') AND actor IN ('ada', 'omar', 'vic') ORDER BY actor"))
      .toEqual([{ actor: 'ada', role: 'admin' }, { actor: 'omar', role: 'operator' }, { actor: 'vic', role: 'viewer' }]);

    expect(await tocsin(['operator', 'set-role', 'omar', 'viewer'])).toMatchObject({ code: 0 });
    expect((await call(omar, 'GET', '/queues')).status).toBe(401);
    const demoted = await signIn(dashboard.url, 'omar', 'four words of mine');
    expect((await call(demoted, 'PUT', path, await stateReason(demoted))).status).toBe(403);

    const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { dependencies: Record<string, string> };
    const licences = Object.keys(dependencies).map((name) => [name, (JSON.parse(readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8')) as { license?: string }).license]);
    expect(licences.filter(([, licence]) => !/^\(?(MIT|MIT-0|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD)\b/.test(licence ?? ''))).toEqual([]);
  }, 60_000);
});
