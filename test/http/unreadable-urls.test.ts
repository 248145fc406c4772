import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningIntake } from '../../services/intake/intake.ts';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { createRig } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { ACCOUNT, AUTHORIZATION, start as startStandIn } from '../sandbox/support.ts';
import { signIn } from '../support/sign-in.ts';

const { appRoutes } = createRequire(import.meta.url)('@bull-board/api/dist/routes') as { appRoutes: { api: { method: string; route: string }[] } };

let rig: Rig;
let queue: QueueBackend;
let intake: RunningIntake;
let dashboard: RunningDashboard;
let sandbox: RunningSandbox;
let headers: Record<'intake' | 'dashboard' | 'sandbox', Record<string, string>>;

beforeAll(async () => {
  // Whoever waits long for a connection here waits for a busy machine.
  rig = await createRig(undefined, 30_000);
  await migrateQueueSchema(rig.database.url, 'tocsin_app');
  queue = openQueueBackend({ databaseUrl: rig.database.url, roleName: 'tocsin_app', onError: () => undefined });
  intake = await rig.start({ reportsPerMinute: { address: 10_000, link: 10_000 }, unsubscribesPerMinute: { address: 10_000, link: 10_000 } });
  dashboard = await startDashboard({ engine: rig.engine, queue, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'operator', password: 'correct:horse' } } });
  sandbox = await startStandIn();
  const signed = await signIn(dashboard.url, 'operator');
  headers = { intake: { Authorization: `Bearer ${await rig.createKey('acme')}` }, dashboard: { ...signed.headers, Origin: dashboard.url }, sandbox: { Authorization: AUTHORIZATION } };
});
afterAll(async () => {
  await sandbox.close();
  await dashboard.close();
  await queue.close();
  await rig.close();
});

/** One request whose target goes out as it stands: a client would mend it, or refuse it. The status of its answer. */
const statusOf = async (url: string, method: string, target: string, sent: Record<string, string>): Promise<number> => {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => { text += piece; });
  const body = method === 'GET' ? '' : '{}';
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close', 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Idempotency-Key: k-1', ...Object.entries(sent).map(([name, value]) => `${name}: ${value}`)];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  await once(socket, 'close');
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
};

/** Every path with a place for what a caller names; what stands there is put in its stead. */
const PATHS = {
  intake: ['GET /notifications/X', 'GET /notifications/X/history', 'GET /notifications/X/explanation', 'POST /notifications/X/close', 'POST /notifications/X/pause', 'POST /notifications/X/resume',
    'GET /receipts/X', 'GET /reports/X', 'POST /reports/X/code', 'POST /reports/X/open', 'GET /unsubscribe/X', 'POST /unsubscribe/X', 'GET /X', 'GET /docs/X'],
  dashboard: ['GET /notifications/X', 'GET /notifications/X/live', 'GET /notifications/X/view', 'GET /notifications/X/timeline.svg', 'GET /notifications/X/act', 'POST /notifications/X/close', 'GET /tickets/X', 'GET /templates/X/1',
    'GET /templates/X/1/html', 'GET /templates/game-support-urgent-email/X', 'GET /X', 'GET /queues/X', 'GET /queues/queue/X', ...appRoutes.api.filter(({ route }) => route.includes(':')).map(({ method, route }) => `${method.toUpperCase()} /queues${route.replaceAll(/:\w+/g, 'X')}`)],
  sandbox: [`GET /2010-04-01/Accounts/${ACCOUNT.accountSid}/Messages/X.json`, 'GET /2010-04-01/Accounts/X/Messages.json', 'POST /2010-04-01/Accounts/X/Messages.json', 'GET /xms/v1/X/batches', 'GET /xms/v1/plan/batches/X', 'GET /emails/X', 'GET /X', 'GET /messages/X'],
} as const;
const QUERIES = {
  intake: ['GET /notifications?after=X', 'GET /notifications?limit=X', 'GET /?category=X', 'POST /artifacts?expires_at=X', 'GET /healthz?X'],
  dashboard: ['GET /?status=X', 'GET /?purpose=X', 'GET /?q=X', 'GET /?before=X', 'GET /?find=X', 'GET /at-risk?X', 'GET /audit?X', 'GET /login?next=X', 'GET /templates?X', 'GET /reason?next=X', 'GET /queues/?X', 'GET /queues/api/queues?activeQueue=X&status=X&page=X&jobsPerPage=X'],
  sandbox: ['GET /?to=X', 'GET /messages?to=X', 'GET /messages?limit=X', `GET /2010-04-01/Accounts/${ACCOUNT.accountSid}/Messages.json?To=X&From=X`, 'GET /xms/v1/plan/batches?client_reference=X', 'GET /scenarios?X'],
} as const;

const NUL = ['%00', 'a%00b', 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV%00'];
const BROKEN = ['%', '%zz', '%f', '%ff', '%c0%ae', '%ed%a0%80', 'a%e2%82'];

describe.each(['intake', 'dashboard', 'sandbox'] as const)('a NUL or a broken percent sign in an address of the %s', (app) => {
  const url = (): string => ({ intake: intake.url, dashboard: dashboard.url, sandbox: sandbox.httpUrl })[app];
  const AT_ONCE = 8;
  const answersTo = async (paths: readonly string[], values: readonly string[]): Promise<{ line: string; status: number }[]> => {
    const asked = paths.flatMap((line) => values.map((value) => { const [method = '', target = ''] = line.split(' '); return { method, target: target.replaceAll('X', value) }; }));
    const answers: { line: string; status: number }[] = [];
    for (let from = 0; from < asked.length; from += AT_ONCE) {
      answers.push(...await Promise.all(asked.slice(from, from + AT_ONCE).map(async ({ method, target }) => ({ line: `${method} ${target}`, status: await statusOf(url(), method, target, headers[app]) }))));
    }
    return answers;
  };

  it('is the caller\'s fault in every path: 400 or 404', async () => {
    const answers = await answersTo(PATHS[app], [...NUL, ...BROKEN]);
    expect(answers.filter(({ status }) => status !== 400 && status !== 404)).toEqual([]);
  });

  it('in a query is never a defect of ours', async () => {
    // The intake looks at its fields one by one, and shows its form whatever else stands in the address.
    if (app !== 'intake') expect((await answersTo(QUERIES[app], NUL)).filter(({ status }) => status !== 400)).toEqual([]);
    expect((await answersTo(QUERIES[app], [...NUL, ...BROKEN])).filter(({ status }) => status >= 500 || status === 0)).toEqual([]);
  });

  it('is answered so to whoever has no right to anything there', async () => {
    for (const value of [...NUL, ...BROKEN]) expect(await statusOf(url(), 'GET', `/${value}`, {})).toBe(400);
  });

  it('leaves no error in the log', () => {
    expect(rig.logged()).not.toMatch(/"level":(50|60|"error"|"fatal")/);
  });
});

it('whatever else is encoded is read as ever', async () => {
  expect(await statusOf(intake.url, 'GET', '/?category=100%', {})).toBe(200);
  expect(await statusOf(dashboard.url, 'GET', '/notifications/%E2%82%AC', headers.dashboard)).toBe(404);
});
