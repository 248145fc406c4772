import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { live, ticketRequest } from '../../bench/history/lives.ts';
import type { ClockedEngine } from '../../bench/history/lives.ts';
import { startCheckpoints } from '../../services/coordinator/checkpoints.ts';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import { startIntake } from '../../services/intake/intake.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { postAlerts, reviewAlerts } from '../../shared/delivery/alerts.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { requestDeadLetters } from '../../shared/delivery/dead-letter-requests.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import { withdrawConsent } from '../../shared/delivery/consent.ts';
import { addressPrint, suppressDestination } from '../../shared/delivery/suppression.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import { insertApiKey } from '../../shared/ledger/api-keys.ts';
import { listDeadLetters } from '../../shared/ledger/dead-letters.ts';
import { oldestDueAges } from '../../shared/ledger/heartbeat.ts';
import { restoreConsents } from '../../shared/ledger/consents.ts';
import { removeSuppressions } from '../../shared/ledger/suppressions.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import { PROVIDERS } from '../../shared/transports/carriers.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { ask, aTicket, postJson } from '../intake/rig.ts';
import { TENANT } from './feed-support.ts';

const roster = loadRoster(new URL('../../policies', import.meta.url).pathname);
const HOUR_MS = 3_600_000;

const sms = (answer: SubmitResult): Transport => ({
  name: 'twilio', channel: 'sms', capabilities: PROVIDERS.twilio.capabilities, close: async () => undefined, submit: async () => answer,
  readStatus: async () => ({ kind: 'observed', outcome: 'delivered', reason: null }),
});

/** Accepts one and makes its first SMS come to that answer. */
const submitTo = async (engine: Engine, answer: SubmitResult): Promise<string> => {
  const outcome = await acceptNotification(engine, ticketRequest(`acts-${engine.now()}-${answer.kind}`));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  await performAttempt(engine, `${outcome.eventId}.sms.1`, { transport: sms(answer), submitStartWithinMs: 2_000, actor: 'delivery-sms' });
  return outcome.eventId;
};

/** Everything that is asked of intake: tickets and notifications, read, closed, paused, the feed, health. */
const overHttp = async (engine: Engine): Promise<void> => {
  const key = generateApiKey();
  await insertApiKey(engine.db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant: TENANT, label: 'test', now: engine.now() });
  const common = { engine, log: engine.log };
  const intake = await startIntake({
    ...common, roster, dashboardUrl: 'https://dashboard.example',
    config: { host: '127.0.0.1', port: 0, publicUrl: null, demo: true, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 } },
  });
  const dashboard = await startDashboard({ ...common, config: { host: '127.0.0.1', port: 0, operator: { user: 'operator', password: 'correct:horse' } } });
  const auth = { Authorization: `Bearer ${key.text}` };
  const get = (path: string) => ask(`${intake.url}${path}`, { headers: auth });
  const post = (path: string, body: unknown, more = {}) => postJson(`${intake.url}${path}`, body, { ...auth, ...more });
  const notice = (message: string) => ({
    purpose: 'game-support-urgent',
    recipient: { ref: 'user-1', sms: '+12025550102', email: 'name+02@example.com', region: 'US', locale: 'en', consent: ['sms:on_call_duty', 'email:on_call_duty'] },
    variables: { category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en', player_ref: 'p', message, received_at: 'now', ticket_url: 'https://example.com/t' },
  });
  try {
    const idem = { 'Idempotency-Key': `acts-${engine.now()}` };
    const first = await post('/notifications', notice('m'), idem);
    const eventId = String(first.body.event_id);
    const statuses = [
      first, await post('/notifications', notice('m'), idem), await post('/notifications', notice('other'), idem),
      ...await Promise.all(['', '/history', '/explanation'].map((path) => get(`/notifications/${eventId}${path}`))),
      await post(`/notifications/${eventId}/pause`, { reason: 'other' }), await post(`/notifications/${eventId}/resume`, { reason: 'other' }),
      await post('/notifications/close', { idempotency_key: idem['Idempotency-Key'], reason: 'taken' }), await post(`/notifications/${eventId}/close`, { reason: 'taken' }),
    ].map(({ status }) => status);
    const page = await get('/notifications?limit=20');
    await get(`/notifications?limit=20&after=${encodeURIComponent(String(page.body.next_cursor))}`);
    const ticket = await postJson(`${intake.url}/tickets`, aTicket());
    const receipt = String(ticket.body.status_url);
    await ask(new URL(receipt, intake.url).href);
    for (const path of ['/healthz/engine', '/readyz']) await get(path);
    const login = { headers: { Authorization: `Basic ${Buffer.from('operator:correct:horse').toString('base64')}` } };
    for (const path of ['/', '/at-risk', '/at-risk?q=user-1', '/?status=sent', '/?purpose=game-support-routine', '/?throttled=yes', `/?event=${eventId}`, `/notifications/${eventId}`, `/tickets/${String(ticket.body.event_id)}`]) await ask(`${dashboard.url}${path}`, login);
    if (statuses.some((status) => status >= 500)) throw new Error(`answers ${statuses.join(' ')}`);
  } finally {
    await Promise.all([intake.close(), dashboard.close()]);
  }
};

/** The coordinator's duties on a real queue, with dead letters, a provider that refuses the account, and what waits for it. */
const coordinate = async ({ engine, moveTo }: ClockedEngine, databaseUrl: string): Promise<void> => {
  const queue = openQueueBackend({ databaseUrl, roleName: 'tocsin_app', onError: () => undefined, metrics: engine.metrics });
  const relay = createRelay({ ledger: engine.ledger, queue, now: engine.now, log: engine.log, metrics: engine.metrics });
  const coordinator = startCoordinator({ engine, queue, relay, transports: [sms({ kind: 'unknown', reason: 'lost_response' })], actor: 'coordinator', pollConcurrency: 4, providerTimeoutMs: 1_000 });
  try {
    await submitTo(engine, { kind: 'provider_unavailable', reason: 'provider_auth' });
    await submitTo(engine, { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out' });
    await submitTo(engine, { kind: 'accepted', providerMessageId: `SM-${engine.now()}` });
    await coordinator.sweep();
    await coordinator.attendDeadLetters();
    const open = await listDeadLetters(engine.db, { channel: 'sms' }, { limit: 5 });
    await requestDeadLetters(engine, open, { action: 'retry', actor: 'operator', reason: 'incident' });
    await coordinator.attendDeadLetters();
    moveTo(engine.now() + 6_000);
    await coordinator.sweep();
    await relay.drain();
  } finally {
    await coordinator.close();
    await relay.close();
    await queue.close();
  }
};

/** One that nobody submits comes near its end: it is raised, told and, once it is closed, ended. */
const tellRisks = async ({ engine, moveTo }: ClockedEngine): Promise<void> => {
  const outcome = await acceptNotification(engine, ticketRequest(`endangered-${engine.now()}`));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  for (let step = 0; step < 9; step += 1) {
    moveTo(engine.now() + 60_000);
    await sweepDecisions(engine, 'coordinator');
  }
  const receiver = { name: 'webhook' as const, send: async (notices: readonly unknown[]) => notices.map(() => true) };
  const { raised } = await reviewAlerts(engine, ['webhook']);
  if (!raised.includes(`at_risk/${outcome.eventId}`)) throw new Error(`raised ${raised.join(' ')}`);
  await postAlerts(engine, receiver, { dashboardUrl: 'https://dashboard.example', runbookUrl: null });
  await closeNotification(engine, { tenant: null, eventId: outcome.eventId, reason: 'taken', actor: 'test', requestId: 'r' });
  await reviewAlerts(engine, ['webhook']);
  await postAlerts(engine, { ...receiver, send: async (notices: readonly unknown[]) => notices.map(() => false) }, { dashboardUrl: 'https://dashboard.example', runbookUrl: null });
};

/** Makes the checkpoints that are due, with a file of its own. */
export const tickCheckpoints = async (engine: Engine): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-acts-'));
  const checkpoints = startCheckpoints({ engine, file: join(folder, 'checkpoints') });
  try {
    await checkpoints.tick();
  } finally {
    await checkpoints.close();
    await rm(folder, { recursive: true, force: true });
  }
};

/**
 * What the product does all day, once each, through its own code on a real database: whole lives of notifications, everything
 * over HTTP, the pages, the coordinator's duties. The clock moves on by some days.
 */
export const actAll = async (clocked: ClockedEngine, databaseUrl: string): Promise<void> => {
  const { engine, moveTo } = clocked;
  for (const ending of ['delivered', 'undelivered', 'unconfirmed'] as const) await live(clocked, ending, engine.now() + 30 * HOUR_MS);
  await overHttp(engine);
  const address = '+12025550109';
  await suppressDestination(engine, { tenant: TENANT, channel: 'sms', address, reason: 'requested', actor: 'test' });
  const request = ticketRequest(`suppressed-${engine.now()}`);
  await acceptNotification(engine, { ...request, recipient: { ...request.recipient, sms: address } });
  await removeSuppressions(engine.db, { tenant: TENANT, channel: 'sms', addressPrint: addressPrint(engine.ring, 'sms', address) }, { at: engine.now(), actor: 'test', reason: 'mistake' });
  await withdrawConsent(engine, { tenant: TENANT, channel: 'sms', address, basis: null, reason: 'requested', actor: 'test' });
  await acceptNotification(engine, { ...ticketRequest(`withdrawn-${engine.now()}`), recipient: { ...request.recipient, sms: address } });
  await restoreConsents(engine.db, { tenant: TENANT, channel: 'sms', addressPrint: addressPrint(engine.ring, 'sms', address), basis: undefined }, { at: engine.now(), actor: 'test', reason: 'mistake' });
  await coordinate(clocked, databaseUrl);
  await engine.ledger.recordLostRace({ eventId: await submitTo(engine, { kind: 'unknown', reason: 'lost_response' }), at: engine.now(), actor: 'test', requestId: 'r', decidedOn: 1, found: 2 });
  moveTo(engine.now() + 31_000);
  const due = await engine.ledger.loadDueDecisions(engine.now(), 500);
  await engine.ledger.postponeDecisions(due.map(({ eventId }) => eventId), engine.now() + 1_000);
  moveTo(engine.now() + 30 * HOUR_MS);
  await tellRisks(clocked);
  await sweepDecisions(engine, 'coordinator');
  await oldestDueAges(engine.db, engine.now());
  await tickCheckpoints(engine);
};

export const prepareQueue = (databaseUrl: string): Promise<unknown> => migrateQueueSchema(databaseUrl, 'tocsin_app');
