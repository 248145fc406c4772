import { describe, expect, test } from '@jest/globals';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import { appendGroup } from '../../shared/ledger/append-group.ts';
import { insertWithdrawal, listWithdrawals, restoreConsents } from '../../shared/ledger/consents.ts';
import { throttledOf } from '../../shared/ledger/throttles.ts';
import { barringPolicies } from './barring-conformance.ts';
import { openOverlappingStarts } from './overlapping-starts.ts';
import type { Person } from './overlapping-starts.ts';

const { engine, transaction, untilOneWaits, acceptOne, start } = openOverlappingStarts(barringPolicies());
const where = (number: string) => ({ tenant: 'default', channel: 'sms' as const, addressPrint: addressPrint(engine().ring, 'sms', number) });
const withdrawal = (number: string) => ({ ...where(number), basis: '', reason: 'requested', at: Date.now(), actor: 'test' });
describe('a submission and a consent that is taken back, on two connections', () => {
  test('does not start where that was committed while its append waited with an older snapshot', async () => {
    const person = await acceptOne();
    const append = await start(person);
    const { client } = await transaction();
    await client.query('SELECT 1 FROM notification_state WHERE event_id = $1 FOR UPDATE', [person.eventId]);
    const started = engine().append(append);
    await untilOneWaits();
    expect(await insertWithdrawal(engine().db, withdrawal(person.number))).toBe(true);
    await client.query('COMMIT');
    expect(await started).toBe(false);
  });

  test.each([['committed', 'COMMIT', false], ['not made', 'ROLLBACK', true]])('waits for a withdrawal under way, and decides by whether it is %s', async (_, end, starts) => {
    const person = await acceptOne();
    const append = await start(person);
    const { client, db } = await transaction();
    await insertWithdrawal(db, withdrawal(person.number));
    const started = engine().append(append);
    await untilOneWaits();
    await client.query(end);
    expect(await started).toBe(starts);
  });

  test('has whoever takes it back wait for a start that is being committed, so that none is committed after the answer', async () => {
    const person = await acceptOne();
    const append = await start(person);
    const { client, db } = await transaction();
    expect([...await appendGroup(db, [append])]).toEqual([person.eventId]);
    let answered = false;
    const withdrawing = insertWithdrawal(engine().db, withdrawal(person.number)).then(() => { answered = true; });
    await untilOneWaits();
    expect(answered).toBe(false);
    await client.query('COMMIT');
    await withdrawing;
    expect((await engine().load(person.eventId))?.state.attempts[0]?.state).toBe('submitting');
  });

  test('starts again once it was given again, and the record keeps both', async () => {
    const person = await acceptOne();
    await insertWithdrawal(engine().db, withdrawal(person.number));
    expect(await restoreConsents(engine().db, { ...where(person.number), basis: undefined }, { at: Date.now(), actor: 'lead', reason: 'renewed' })).toBe(1);
    expect(await engine().append(await start(person))).toBe(true);
    expect(await listWithdrawals(engine().db, { ...where(person.number), restored: false, limit: 10 })).toEqual([]);
    expect((await listWithdrawals(engine().db, { ...where(person.number), restored: true, limit: 10 })).map((row) => [row.actor, row.restoredBy, row.restoredReason])).toEqual([['test', 'lead', 'renewed']]);
  });
});

describe('submissions under one throttle, on two connections', () => {
  const begun = async (number: string): Promise<number> =>
    Number((await engine().db.pool.query('SELECT count(*) FROM throttled_start WHERE address_print = $1', [addressPrint(engine().ring, 'sms', number)])).rows[0].count);

  test('wait for each other, and the one beyond it loses', async () => {
    const first = await acceptOne({ purpose: 'throttled' });
    const others = [await acceptOne({ purpose: 'throttled', number: first.number }), await acceptOne({ purpose: 'throttled', number: first.number }), await acceptOne({ purpose: 'throttled', number: first.number })];
    for (const other of others.slice(0, 2)) expect(await engine().append(await start(other))).toBe(true);
    const [one, late] = [await start(first), await start(others[2] as Person)];
    const { client, db } = await transaction();
    expect([...await appendGroup(db, [one])]).toEqual([first.eventId]);
    const started = engine().append(late);
    await untilOneWaits();
    await client.query('COMMIT');
    expect([await started, await begun(first.number)]).toEqual([false, 3]);
  });

  test('never pass it together: of ten at once, in groups and alone, three win', async () => {
    const first = await acceptOne({ purpose: 'throttled' });
    const flood = [first, ...await Promise.all(Array.from({ length: 9 }, () => acceptOne({ purpose: 'throttled', number: first.number })))];
    const appends = await Promise.all(flood.map(start));
    const won = await Promise.all([appendGroup(engine().db, appends.slice(0, 4)), appendGroup(engine().db, appends.slice(4, 8)), ...appends.slice(8).map((append) => appendGroup(engine().db, [append]))]);
    expect([won.reduce((sum, ids) => sum + ids.size, 0), await begun(first.number)]).toEqual([3, 3]);
  });

  test('forget what no window can count any more', async () => {
    const person = await acceptOne({ purpose: 'throttled' });
    const print = addressPrint(engine().ring, 'sms', person.number);
    await engine().db.pool.query(`INSERT INTO throttled_start (attempt_key, tenant, channel, purpose, address_print, at) SELECT 'old-' || n || '-' || $2::text, 'default', 'sms', 'throttled', $1, now() - interval '2 hours' FROM generate_series(1, 3) n`, [print, person.eventId]);
    expect(await engine().append(await start(person))).toBe(true);
    expect(await begun(person.number)).toBe(1);
  });

  test('are counted by their index alone', async () => {
    await engine().db.pool.query(`INSERT INTO throttled_start (attempt_key, tenant, channel, purpose, address_print, at) SELECT 'k' || n, 'default', 'sms', 'throttled', sha256(n::text::bytea), now() FROM generate_series(1, 5000) n`);
    const { client } = await transaction();
    await client.query('ANALYZE throttled_start');
    const counted = throttledOf({ tenant: 'n.tenant', purpose: 'n.purpose', sms: 'r.sms_print', email: 'r.email_print', throttles: '$2::jsonb' });
    const { rows } = await client.query(`EXPLAIN SELECT ${counted} FROM notification n JOIN recipient r USING (event_id) WHERE n.event_id = $1`, ['evt', '[]']);
    const text = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('throttled_start_window');
    expect(text).not.toContain('Seq Scan on throttled_start');
  });
});
