import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, test } from '@jest/globals';
import { createDashboard, startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { COMMAND_NAMES } from '../../services/cli/commands.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { run } from '../cli/support.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { withClient } from '../ledger/verify-support.ts';
import { dumpOf, tracesIn } from '../support/traces.ts';

/** Whom nothing that the product says may name: a recipient, and the contact that a player gave. */
const ADDRESSES = ['+12025550147', 'mask.me@example.org', '+12025550148', 'player.mask@example.net'] as const;
const [SMS, EMAIL, CONTACT_SMS, CONTACT_EMAIL] = ADDRESSES;
const MASKED = [['+1•••••0148', 'p•••@example.net']];
const traces = (heap: string): string[] => tracesIn(heap, [...ADDRESSES, '2025550147', '2025550148']);

let rig: Rig;
let intake: RunningIntake;
let queue: QueueBackend;
let dashboard: RunningDashboard;
let folder: string;
let key: string;
let eventId: string;
let ticketId: string;
let receipt: string;
let deadLetter: string;
const bearer = () => ({ Authorization: `Bearer ${key}` });
const notice = (recipient: Record<string, unknown> = {}) => ({
  purpose: 'password-reset', recipient: { ref: 'u-1', sms: SMS, email: EMAIL, region: 'US', locale: 'en', consent: ['sms:account_security', 'email:account_security'], ...recipient },
  variables: { reset_url: 'https://accounts.example.com/r/x', code: '482913', site: 'Example', token: 'x' },
});

beforeAll(async () => {
  rig = await createRig(undefined, 10_000);
  folder = await mkdtemp(join(tmpdir(), 'masked-'));
  await migrateQueueSchema(rig.database.url, 'tocsin_app');
  queue = openQueueBackend({ databaseUrl: rig.database.url, roleName: 'tocsin_app', onError: () => undefined });
  intake = await rig.start();
  key = await rig.createKey('default');
  const taken = await postJson(`${intake.url}/tickets`, aTicket({ contact: { sms: CONTACT_SMS, email: CONTACT_EMAIL } }));
  ticketId = String(taken.body['event_id']);
  receipt = String(taken.body['status_url']);
  const urgent = { ...notice(), purpose: 'game-support-urgent', recipient: { ...notice().recipient, consent: ['sms:on_call_duty', 'email:on_call_duty'] }, variables: { category: 'c', queue: 'q', region: 'US', locale: 'en', player_ref: 'p', message: 'm', received_at: '2026-01-01T00:00:00Z', ticket_url: 'http://127.0.0.1:3001/' } };
  eventId = String((await postJson(`${intake.url}/notifications`, urgent, { ...bearer(), 'Idempotency-Key': 'one' })).body['event_id']);
  await decideAndAppend(rig.engine, eventId, { provenance: { actor: 'test', requestId: 'r' }, command: () => ({ kind: 'refuse_to_submit', attempt: `${eventId}.sms.1`, reason: 'render_drift' }) });
  const { rows } = await rig.engine.db.pool.query('SELECT id::text FROM dead_letter');
  deadLetter = rows[0].id;
  dashboard = await startDashboard({ engine: rig.engine, queue, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'operator', password: 'correct:horse' } } });
}, 60_000);
afterAll(async () => {
  await dashboard.close();
  await queue.close();
  await rig.close();
  await rm(folder, { recursive: true });
});

const env = () => ({ DATABASE_URL: rig.database.url, TOCSIN_KEYS: rig.keys, TOCSIN_DATA_DIR: folder });
const login = { headers: { Authorization: `Basic ${Buffer.from('operator:correct:horse').toString('base64')}` } };
const fill = (path: string): string => path.replace(':event_id', path.startsWith('/tickets') ? ticketId : eventId).replace(':name', 'game-support-urgent-email').replace(':version', '1').replace(':channel', 'sms');

test('every page of the dashboard names no destination but masked', async () => {
  const { stack } = createDashboard({ engine: rig.engine, queue, log: rig.log, config: { host: '', port: 0, operator: { user: 'operator', password: 'correct:horse' } } }).router as unknown as { stack: { route?: { path: string; methods: Record<string, boolean> } }[] };
  const paths = stack.flatMap(({ route }) => (route?.methods['get'] ? [fill(route.path)] : []));
  const shown: [string, Awaited<ReturnType<typeof ask>>][] = [];
  for (const path of [...paths, '/queues/', '/queues/api/queues?activeQueue=sms-dead-letter&status=failed&page=1']) shown.push([path, await ask(`${dashboard.url}${path}`, login)]);
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.filter(([, answer]) => answer.status >= 400).map(([path, answer]) => `${path} ${answer.status}`)).toEqual([]);
  expect(shown.flatMap(([path, { text }]) => traces(text).map((trace) => `${path}: ${trace}`))).toEqual([]);
  const [ticket] = shown.filter(([path]) => path.startsWith('/tickets')).map(([, answer]) => answer.text);
  for (const masked of MASKED.flat()) expect(ticket).toContain(masked);
});

test('every answer of the API names no destination, nor does a refusal quote one', async () => {
  const refused = [
    postJson(`${intake.url}/notifications`, notice({ sms: `${SMS}x` }), { ...bearer(), 'Idempotency-Key': 'two' }), postJson(`${intake.url}/notifications`, notice({ email: `${EMAIL}@` }), { ...bearer(), 'Idempotency-Key': 'three' }),
    postJson(`${intake.url}/notifications`, { ...notice(), purpose: 'no-such-purpose' }, { ...bearer(), 'Idempotency-Key': 'four' }), postJson(`${intake.url}/notifications`, notice(), { ...bearer(), 'Idempotency-Key': 'one' }),
    postJson(`${intake.url}/tickets`, aTicket({ contact: { sms: `${CONTACT_SMS}x`, email: CONTACT_EMAIL } })), postJson(`${intake.url}/notifications`, `{"recipient": {"sms": "${SMS}"`, { ...bearer(), 'Idempotency-Key': 'five' }),
  ];
  const read = [`/notifications/${eventId}`, `/notifications/${eventId}/history`, `/notifications/${eventId}/explanation`, '/notifications?limit=200', '/metrics', `/notifications/${encodeURIComponent(SMS)}`]
    .map((path) => ask(`${intake.url}${path}`, { headers: bearer() }));
  const receipts = [ask(receipt), ask(receipt, { headers: { Accept: 'text/html' } })];
  const answers = await Promise.all([...read, ...receipts]);
  const refusals = await Promise.all(refused);
  expect(refusals.map((answer) => answer.status >= 400 && answer.status < 500)).toEqual(refusals.map(() => true));
  expect([...answers, ...refusals].flatMap((answer) => traces(answer.text))).toEqual([]);
});

test('every command that reads names no destination but masked, also where it was given one', async () => {
  const exported = join(folder, 'export.csv');
  await writeFile(exported, `event_id,channel,outcome,at\n${eventId},sms,delivered,2026-01-01T00:00:00Z\n${SMS},sms,delivered,2026-01-01T00:00:00Z\n${eventId},${EMAIL},sent,2026-01-01T00:00:00Z\n`);
  const lines: Record<string, string[][]> = {
    show: [[eventId], [eventId, '--json'], [eventId, '--message']], explain: [[eventId], [ticketId, '--json']], close: [['x']], pause: [[ticketId, '--reason', 'checked']], resume: [[ticketId, '--reason', 'checked']],
    'dead-letters list': [[], ['--json']], 'dead-letters show': [[deadLetter], [deadLetter, '--json']], 'dead-letters retry': [[deadLetter, '--reason', 'checked']], 'dead-letters discard': [['--all', '--reason', `call ${SMS}`]],
    'suppress add': [['--channel', 'sms', '--address', SMS, '--reason', 'requested'], ['--channel', 'email', '--address', SMS, '--reason', 'requested']],
    'suppress list': [[], ['--channel', 'sms', '--address', SMS, '--json']], 'suppress remove': [['--channel', 'sms', '--address', SMS, '--reason', 'test'], ['--channel', 'sms', '--address', CONTACT_SMS, '--reason', 'test', '--json']],
    erase: [[SMS, '--reason', 'requested'], [EMAIL, '--reason', 'requested', '--json'], [EMAIL, '--reason', 'requested', '--yes'], [CONTACT_EMAIL, '--reason', 'nonsense']],
    'ledger verify': [[], ['--json'], [SMS]], 'ledger export': [[]], 'ledger retention': [['--dry-run']], doctor: [[], ['--json']], 'key list': [[], ['--json']], 'policy list': [[]], 'template list': [[]],
    'report-access': [[eventId], [ticketId, '--json'], [SMS]], 'at-risk': [[], ['--json'], ['--search', SMS]], 'audit list': [[], ['--json']], 'audit verify': [[]],
    'replay-render': [['--purpose', 'game-support-urgent', '--to', '1'], ['--purpose', 'game-support-urgent', '--to', '1', '--json']], reconcile: [[exported], [exported, '--json']],
  };
  // What does not read notifications: files, keys and the schema; `send` has its own answer checked above, `watch` draws what `show` has.
  const elsewhere = ['send', 'watch', 'policy lint', 'policy activate', 'template lint', 'template preview', 'migrate', 'key create', 'key revoke'];
  expect(COMMAND_NAMES.filter((name) => lines[name] === undefined && !elsewhere.includes(name) && !name.startsWith('consent') && !name.startsWith('operator'))).toEqual([]);
  const said: string[] = [];
  for (const [name, all] of Object.entries(lines)) {
    for (const line of all) {
      const { out, err } = await run([...name.split(' '), ...line], { env: env() });
      said.push(...traces(out + err).map((trace) => `${name} ${line.join(' ')}: ${trace}`));
    }
  }
  expect(said).toEqual([]);
  const message = await run(['show', eventId, '--message'], { env: env() });
  expect(message.out).toContain('To: +1•••••0147');
  expect((await run(['show', eventId, '--message', '--unmasked'], { env: env() })).out).toContain(`To: ${SMS}`);
}, 60_000);

it('is in no log line, and in no column of the database in clear', async () => {
  expect(traces(rig.logged())).toEqual([]);
  const dump = await withClient(rig.database.url, (client) => dumpOf(async (text, values) => (await client.query(text, values)).rows));
  expect([...dump].flatMap(([table, heap]) => traces(heap).map((trace) => `${table}: ${trace}`))).toEqual([]);
});
