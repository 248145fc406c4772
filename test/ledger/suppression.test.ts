import { describe, expect, test } from '@jest/globals';
import { addressPrint, suppressDestination } from '../../shared/delivery/suppression.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { createHands } from '../../shared/delivery/hands.ts';
import { noRecent } from '../../shared/delivery/recent.ts';
import { appendGroup } from '../../shared/ledger/append-group.ts';
import type { Append } from '../../shared/ledger/rows.ts';
import { insertSuppression, listSuppressions, removeSuppressions } from '../../shared/ledger/suppressions.ts';
import { openOverlappingStarts } from './overlapping-starts.ts';
import type { Person } from './overlapping-starts.ts';
import { urgentRequest } from '../support/test-engine.ts';

const { engine, transaction, untilOneWaits, acceptOne, decided, start } = openOverlappingStarts();
const optOut = (person: Person): Promise<Append> =>
  decided(person, { kind: 'record_submission', attempt: `${person.eventId}.sms.1`, submission: 1, result: { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out' } });
const ofNumber = (number: string) => ({
  tenant: 'default', channel: 'sms' as const, addressPrint: addressPrint(engine().ring, 'sms', number), senderPrint: null, reason: 'requested', source: 'hand' as const, at: Date.now(), actor: 'test',
});
const ask = (text: string, values: unknown[] = []) => engine().db.pool.query(text, values).then((result) => result.rows);
describe('a submission and a suppression of its destination, on two connections', () => {
  test('does not start where the suppression was committed while its append waited with an older snapshot', async () => {
    const person = await acceptOne();
    const append = await start(person);
    const { client } = await transaction();
    await client.query('SELECT 1 FROM notification_state WHERE event_id = $1 FOR UPDATE', [person.eventId]);
    const started = engine().append(append);
    await untilOneWaits();
    expect(await insertSuppression(engine().db, ofNumber(person.number))).toBe(true);
    await client.query('COMMIT');
    expect(await started).toBe(false);
  });

  test.each([['committed', 'COMMIT', false], ['taken back', 'ROLLBACK', true]])('waits for a suppression that is being made, and %s decides', async (_, end, starts) => {
    const person = await acceptOne();
    const append = await start(person);
    const { client, db } = await transaction();
    await insertSuppression(db, ofNumber(person.number));
    const started = engine().append(append);
    await untilOneWaits();
    await client.query(end);
    expect(await started).toBe(starts);
  });

  test('has whoever suppresses wait for a start that is being committed, so that none is committed after the answer', async () => {
    const person = await acceptOne();
    const append = await start(person);
    const { client, db } = await transaction();
    expect([...await appendGroup(db, [append])]).toEqual([person.eventId]);
    let answered = false;
    const suppressing = insertSuppression(engine().db, ofNumber(person.number)).then(() => { answered = true; });
    await untilOneWaits();
    expect(answered).toBe(false);
    await client.query('COMMIT');
    await suppressing;
    expect((await engine().load(person.eventId))?.state.attempts[0]?.state).toBe('submitting');
  });

  test('holds where a row is written into the list by any other statement', async () => {
    const person = await acceptOne();
    const append = await start(person);
    const { client } = await transaction();
    await client.query(`INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor)
      SELECT 'default', 'sms', sms_print, '', 'stop', 'stop', '2026-01-01Z', 'test' FROM recipient WHERE event_id = $1`, [person.eventId]);
    const started = engine().append(append);
    await untilOneWaits();
    await client.query('COMMIT');
    expect(await started).toBe(false);
  });

  /** An acceptance that starts its own submission, decided with the suppression list as it was. */
  const startedAtOnce = async (number: string) => {
    const begun: string[] = [];
    const hands = createHands();
    hands.serve('sms', { provider: 'twilio', place: () => ({ submit: (key) => begun.push(key), leave: () => undefined }) });
    const request = urgentRequest();
    const accepting = acceptNotification({ ...engine(), hands, recent: { ...noRecent, providers: () => ({}) } }, { ...request, recipient: { ...request.recipient, sms: number } });
    return { accepting, begun };
  };
  const phases = async (outcome: Awaited<ReturnType<typeof acceptNotification>>) => (outcome.kind === 'accepted' ? (await engine().load(outcome.eventId))?.state.steps.map(({ phase }) => phase) : outcome.kind);

  test('is started by an acceptance too, which waits for a suppression that is being made and then starts nothing', async () => {
    const { client, db } = await transaction();
    await insertSuppression(db, ofNumber('+12025579001'));
    const { accepting, begun } = await startedAtOnce('+12025579001');
    await untilOneWaits();
    await client.query('COMMIT');
    expect([await phases(await accepting), begun]).toEqual([['skipped', 'started'], []]);
  });

  test('is started by an acceptance that waited for a suppression which was taken back', async () => {
    const { client, db } = await transaction();
    await insertSuppression(db, ofNumber('+12025579002'));
    const { accepting, begun } = await startedAtOnce('+12025579002');
    await untilOneWaits();
    await client.query('ROLLBACK');
    const outcome = await accepting;
    expect([await phases(outcome), begun]).toEqual([['started', 'waiting'], [`${outcome.kind === 'accepted' ? outcome.eventId : ''}.sms.1`]]);
  });

  test('does not hold up submissions to one destination by each other', async () => {
    const first = await acceptOne();
    const second = await acceptOne({ number: first.number });
    const [one, other] = [await start(first), await start(second)];
    const { client, db } = await transaction();
    await appendGroup(db, [one]);
    expect(await engine().append(other)).toBe(true);
    await client.query('COMMIT');
  });

  test('lets no start win in the very statement that suppresses its destination', async () => {
    const first = await acceptOne();
    const second = await acceptOne({ number: first.number });
    expect(await engine().append(await start(first))).toBe(true);
    expect([...await appendGroup(engine().db, [await optOut(first), await start(second)])]).toEqual([first.eventId]);
  });

  test('never deadlocks where two appends start to what the other one suppresses', async () => {
    const rounds = Array.from({ length: 12 }, async () => {
      const [a, b] = [await acceptOne(), await acceptOne()];
      const [toA, toB] = [await acceptOne({ number: a.number }), await acceptOne({ number: b.number })];
      for (const person of [a, b]) expect(await engine().append(await start(person))).toBe(true);
      return { one: [await start(toA), await optOut(b)], other: [await start(toB), await optOut(a)] };
    });
    const groups = (await Promise.all(rounds)).flatMap(({ one, other }) => [one, other]);
    const settled = await Promise.allSettled(groups.map((group) => appendGroup(engine().db, group)));
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});

describe('the suppression list', () => {
  test('holds prints, codes and who it was, and no address', async () => {
    const person = await acceptOne();
    expect(await engine().append(await start(person))).toBe(true);
    expect(await engine().append(await optOut(person))).toBe(true);
    const [row] = await ask('SELECT s.*, s::text AS whole FROM suppression s WHERE event_id = $1', [person.eventId]);
    expect(row).toMatchObject({ channel: 'sms', reason: 'opted_out', source: 'provider', actor: 'test', attempt_key: `${person.eventId}.sms.1`, removed_at: null });
    expect([row.address_print.equals(addressPrint(engine().ring, 'sms', person.number)), row.sender_print.toString('hex')]).toEqual([true, engine().senderPrints.sms]);
    expect(row.whole).not.toContain('202555');
  });

  test('keeps what was taken back, lets the destination be used again, and suppressed again', async () => {
    const { number } = await acceptOne();
    const where = { tenant: 'default', channel: 'sms' as const, addressPrint: addressPrint(engine().ring, 'sms', number) };
    const suppress = () => suppressDestination(engine(), { tenant: 'default', channel: 'sms', address: number, reason: 'requested', actor: 'oncall' });
    expect([await suppress(), await suppress()]).toEqual([true, false]);
    expect(await removeSuppressions(engine().db, where, { at: Date.now(), actor: 'lead', reason: 'wrong_person' })).toBe(1);
    expect(await engine().append(await start(await acceptOne({ number })))).toBe(true);
    expect(await suppress()).toBe(true);
    const all = await listSuppressions(engine().db, { ...where, removed: true, limit: 10 });
    expect(all.map((one) => [one.actor, one.removedBy, one.removedReason])).toEqual([['oncall', null, null], ['oncall', 'lead', 'wrong_person']]);
    expect(await listSuppressions(engine().db, { ...where, removed: false, limit: 10 })).toHaveLength(1);
  });

  test('is asked by its index alone', async () => {
    const person = await acceptOne();
    await ask(`INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor)
      SELECT 'default', 'sms', sha256(g::text::bytea), '', 'requested', 'hand', '2026-01-01Z', 'test' FROM generate_series(1, 5000) g`);
    await ask('ANALYZE suppression');
    const { LOADED_COLUMNS, LOADED_JOINS } = await import('../../shared/ledger/load.ts');
    const plan = await ask(`EXPLAIN SELECT ${LOADED_COLUMNS} FROM notification_state s ${LOADED_JOINS} WHERE s.event_id = ANY($1::text[])`, [[person.eventId]]);
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('suppression_standing');
    expect(text).not.toContain('Seq Scan on suppression');
  });
});
