import { loadPolicies } from '../shared/content/policy-file.ts';
import { loadTemplates } from '../shared/content/template-file.ts';
import { acceptNotification } from '../shared/delivery/accept-notification.ts';
import { inputFor } from '../shared/delivery/decide-and-append.ts';
import { createEngine } from '../shared/delivery/engine.ts';
import type { Engine } from '../shared/delivery/engine.ts';
import { sealRaw } from '../shared/delivery/observe.ts';
import { decide } from '../shared/domain/decide.ts';
import type { Command } from '../shared/domain/decide.ts';
import { attemptKeyOf } from '../shared/domain/words.ts';
import type { EventId } from '../shared/domain/words.ts';
import { COLUMNS, appendGroup, rowsOf } from '../shared/ledger/append-group.ts';
import { openDatabase } from '../shared/ledger/database.ts';
import { migrate } from '../shared/ledger/migrate.ts';
import { rowArrays } from '../shared/ledger/row-arrays.ts';
import { toAppend } from '../shared/ledger/rows.ts';
import type { Append } from '../shared/ledger/rows.ts';
import { publishVersions } from '../shared/ledger/versions.ts';
import { generateKeyRingText, parseKeyRing } from '../shared/security/key-ring.ts';
import { REDACT_PATHS } from '../shared/security/redact.ts';
import { createLogger } from '../shared/telemetry/logger.ts';
import { createMetrics } from '../shared/telemetry/metrics.ts';
import { CARRIERS } from '../shared/transports/carriers.ts';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { median } from './figures.ts';
import type { Ground } from './ground.ts';

const GROUP = 50;

/** The same rows and bytes: the tables with their indexes, and nothing that checks anything. */
const FLOOR_TABLES = `
CREATE SEQUENCE floor_position;
CREATE TABLE floor_entry (LIKE ledger_entry INCLUDING INDEXES);
CREATE TABLE floor_state (LIKE notification_state INCLUDING INDEXES INCLUDING STORAGE);
CREATE TABLE floor_attempt (LIKE attempt INCLUDING INDEXES);
CREATE TABLE floor_observation (LIKE observation_raw INCLUDING INDEXES);`;

const ROWS = rowArrays(1, { entries: COLUMNS.entries, state: COLUMNS.state, changed: COLUMNS.changed, observations: COLUMNS.observations });
const FLOOR = `
WITH e AS (
  INSERT INTO floor_entry SELECT r.event_id, r.version, nextval('floor_position'), pg_current_xact_id(), r.kind, r.at, r.actor, r.request_id, r.policy_version, r.attempt_key, r.from_state, r.to_state, r.body, r.prev_hash, r.hash, 1
    FROM ${ROWS.from('entries')} r),
s AS (
  INSERT INTO floor_state (event_id, version, head_hash, state, status, decide_at, updated_at, risk_at)
  SELECT r.event_id, r.version, r.head_hash, r.state, r.status, r.decide_at, r.updated_at, r.risk_at FROM ${ROWS.from('state')} r),
a AS (
  INSERT INTO floor_attempt (attempt_key, event_id, step, origin, channel, sequence, state, provider, provider_message_id, policy_version, template, template_version, outcome, reason, reason_by,
    decision_deadline_at, planned_at, queued_at, submitted_at, settled_at, next_poll_at, provider_wait_at)
  SELECT r.attempt_key, r.event_id, 0, 'policy', 'sms', 1, r.state, 'twilio', r.provider_message_id, 1, 'game-support-urgent-sms', 1, r.outcome, r.reason, r.reason_by,
    r.queued_at, r.queued_at, r.queued_at, r.submitted_at, r.settled_at, r.next_poll_at, r.provider_wait_at FROM ${ROWS.from('changed')} r),
o AS (
  INSERT INTO floor_observation SELECT r.event_id, r.version, r.at, r.key_id, r.box FROM ${ROWS.from('observations')} r)
SELECT 1`;

const openEngine = async (url: string, policyDir: string): Promise<Engine> => {
  const db = openDatabase({ url, poolSize: 4, connectTimeoutMs: 30_000 });
  const templates = loadTemplates(fileURLToPath(new URL('../templates', import.meta.url)));
  await publishVersions(db, { policies: loadPolicies(policyDir), templates: templates.map((one) => ({ name: one.name, version: one.version, definition: one })), now: Date.now() });
  return createEngine({
    db, ring: parseKeyRing(generateKeyRingText()), carriers: CARRIERS, sender: { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' },
    log: createLogger({ level: 'silent', service: 'bench', redactPaths: REDACT_PATHS }), now: () => Date.now(), metrics: createMetrics(),
  });
};

const acceptOne = async (engine: Engine, index: number): Promise<EventId> => {
  const outcome = await acceptNotification(engine, {
    tenant: 'default', idempotencyKey: `floor-${index}`, fingerprintOf: { index }, purpose: 'bench-load', expiresAt: null, artifacts: [], requestId: `floor-${index}`, actor: 'bench', ticket: null,
    recipient: { ref: `r-${index}`, sms: '+12025550101', email: 'oncall@example.com', region: 'US', locale: 'en', timeZone: null, consent: [{ channel: 'sms', basis: 'consent', reference: 'bench' }, { channel: 'email', basis: 'consent', reference: 'bench' }] },
    variables: (eventId) => ({
      category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en-US', player_ref: `p-${index}`, message: 'locked out', received_at: '2026-01-01T00:00:00Z', ticket_url: `http://127.0.0.1:3001/tickets/${eventId}`,
    }),
  });
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${outcome.kind}`);
  return outcome.eventId;
};

/** The appends that a worker would make for these notifications, not yet made. */
const appendsOf = async (engine: Engine, ids: readonly EventId[], command: (id: EventId) => Command, raw?: { httpStatus: number; code: string; text: string }): Promise<Append[]> =>
  Promise.all(ids.map(async (id) => {
    const loaded = await engine.load(id);
    if (!loaded) throw new Error('not loaded');
    const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
    const decision = decide(command(id), loaded.state, inputFor(engine, loaded, bound));
    return sealRaw(engine, id, raw)(toAppend(decision, { before: loaded.state, prevHash: loaded.headHash, provenance: { actor: 'bench', requestId: `bench-${id}` }, senders: engine.senderPrints }));
  }));

/** Makes appends in groups of fifty, the product's way and as bare inserts, by turns. Returns milliseconds of each group. */
const inTurns = async (engine: Engine, appends: readonly Append[], times: { product: number[]; floor: number[] }): Promise<void> => {
  for (let at = 0; at < appends.length; at += GROUP) {
    const group = appends.slice(at, at + GROUP);
    const startedAt = performance.now();
    const won = await appendGroup(engine.db, group);
    times.product.push(performance.now() - startedAt);
    if (won.size !== group.length) throw new Error('an append was lost');
    const floorAt = performance.now();
    await engine.db.query({ name: 'bench_floor', text: FLOOR, fixedPlan: true }, ROWS.values(rowsOf(group)));
    times.floor.push(performance.now() - floorAt);
  }
};

/** What a group of fifty appends costs, and what the same rows cost as bare inserts: the median milliseconds of each. */
export const groupedAppend = async (ground: Ground, policyDir: string, notifications: number): Promise<{ productMs: number; floorMs: number }> => {
  const url = await ground.makeDatabase(`floor_${process.pid}_${Math.round(performance.now())}`);
  await migrate(url);
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await owner.query(`${FLOOR_TABLES} GRANT ALL ON ALL TABLES IN SCHEMA public TO tocsin_app; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO tocsin_app;`).finally(() => owner.end());
  const engine = await openEngine(url, policyDir);
  try {
    const ids = await Promise.all(Array.from({ length: notifications }, (_, index) => acceptOne(engine, index)));
    const times = { product: [], floor: [] };
    await inTurns(engine, await appendsOf(engine, ids, (id) => ({ kind: 'start_submission', attempt: attemptKeyOf(id, 'sms', 1) })), times);
    await emptyFloor(url);
    const raw = { httpStatus: 201, code: 'queued', text: 'x'.repeat(600) };
    await inTurns(engine, await appendsOf(engine, ids, (id) => ({
      kind: 'record_submission', attempt: attemptKeyOf(id, 'sms', 1), submission: 1, result: { kind: 'accepted', providerMessageId: `SM${id}`, raw },
    }), raw), times);
    return { productMs: median(times.product), floorMs: median(times.floor) };
  } finally {
    await engine.db.close();
  }
};

/** The second step would meet the rows of the first in tables that can only insert. */
const emptyFloor = async (url: string): Promise<void> => {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await owner.query('TRUNCATE floor_entry, floor_state, floor_attempt, floor_observation').finally(() => owner.end());
};
