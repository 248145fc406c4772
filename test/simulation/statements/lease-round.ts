import { sweepDecisions } from '../../../shared/delivery/sweep.ts';
import { loadDueDecisions } from '../../../shared/ledger/claims.ts';
import { createPollLeaser } from '../../../shared/ledger/lease-polls.ts';
import type { Rig } from './rig.ts';
import { acceptMany, carryOut, loadedOf } from './rig.ts';

const LEASE_MS = 21_000;

const submitted = async (rig: Rig, eventId: string): Promise<void> => {
  const attempt = `${eventId}.sms.1`;
  await carryOut(rig, eventId, { kind: 'start_submission', attempt });
  rig.setNow(rig.now() + rig.random.between(10, 400));
  await carryOut(rig, eventId, { kind: 'record_submission', attempt, submission: 1, result: { kind: 'accepted', providerMessageId: `M-${attempt}` } });
};

/** Leases with several pollers at once; tells who was handed out twice, and resolves to the keys. */
const leaseAll = async (rig: Rig, now: number, leaseUntil: number): Promise<Set<string>> => {
  const lease = createPollLeaser(rig.watched.db);
  const handed = (await Promise.all([1, 2, 3].map(() => lease({ now, leaseUntil, limit: rig.random.between(1, 4) })))).flat();
  handed.push(...await lease({ now, leaseUntil, limit: 500 }));
  const keys = handed.map((claim) => claim.attemptKey);
  if (new Set(keys).size < keys.length) rig.report('a poll is handed out once under a lease', keys.join(' '));
  return new Set(keys);
};

/** Polls under way at the deadline: they are leased, the decision is not, and of two coordinators one makes it. */
export const leaseRound = async (rig: Rig): Promise<void> => {
  const ids = await acceptMany(rig, rig.random.between(2, 5));
  for (const eventId of ids) await submitted(rig, eventId);
  const attempts = (await Promise.all(ids.map((eventId) => loadedOf(rig, eventId)))).map(({ state }) => state.attempts[0] as NonNullable<(typeof state.attempts)[0]>);
  const deadline = Math.max(...attempts.map((attempt) => attempt.decisionDeadlineAt));
  // So late that the lease outlasts the deadline of each.
  const now = deadline - rig.random.between(0, LEASE_MS - 1_000);
  const keys = await leaseAll(rig, Math.max(now, ...attempts.map((attempt) => attempt.nextPollAt as number)), deadline + LEASE_MS);
  for (const attempt of attempts) if (!keys.has(attempt.key)) rig.report('every due poll is handed out', attempt.key);
  rig.setNow(deadline);
  const due = new Set((await loadDueDecisions(rig.watched.db, deadline, 500)).map((one) => one.eventId));
  for (const eventId of ids) if (!due.has(eventId)) rig.report('a poll under way hides no deadline', eventId);
  if ((await leaseAll(rig, deadline, deadline + LEASE_MS)).size > 0) rig.report('a poll is handed out once under a lease', 'again before its lease was over');
  await Promise.all([rig.process(), rig.process()].map((engine, index) => sweepDecisions(engine, `coordinator-${index}`)));
  const { rows } = await rig.db.pool.query<{ event_id: string; claims: number; looks: number }>(
    `SELECT event_id, count(*) FILTER (WHERE kind = 'FallbackClaimed')::integer AS claims, count(*) FILTER (WHERE kind IN ('FallbackClaimed', 'LookRequested'))::integer AS looks
       FROM ledger_entry WHERE event_id = ANY($1::text[]) GROUP BY event_id`, [ids]);
  for (const row of rows) {
    if (row.claims > 1) rig.report('a fallback is claimed once', row.event_id);
    if (row.looks === 0) rig.report('a decision is made soon after it is due', row.event_id);
  }
};
