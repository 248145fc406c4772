import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { createRig, postJson } from './rig.ts';
import type { Answer, Rig } from './rig.ts';

const ORDER_URL = 'https://shop.example.com/orders/4711-TOLD-TO-NOBODY/needs-action';

let rig: Rig;
let intake: RunningIntake;
let without: RunningIntake;
let key: string;
beforeAll(async () => {
  rig = await createRig();
  intake = await rig.start({ preconditionOrigins: ['https://shop.example.com'] });
  without = await rig.start();
  key = await rig.createKey('acme');
});
afterAll(() => rig.close());

const order = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  purpose: 'seller-order',
  recipient: { ref: 'seller-1', sms: '+12025550101', email: 'seller@example.com', region: 'US', locale: 'en', consent: ['sms:contract', 'email:contract'] },
  variables: { order_id: '4711', item: 'a lamp', act_by: '18:30 UTC', order_url: 'https://shop.example.com/o/4711' }, precondition_url: ORDER_URL, ...changes,
});
let keys = 0;
const send = (body: unknown, { to = intake, as = `p-${keys += 1}` }: { to?: RunningIntake; as?: string } = {}): Promise<Answer> =>
  postJson(`${to.url}/notifications`, body, { Authorization: `Bearer ${key}`, 'Idempotency-Key': as });

describe('a precondition_url', () => {
  test('is sealed beside the notification and stands nowhere else, in clear or in the log', async () => {
    const { status, body } = await send(order());
    expect([status, body]).toMatchObject([202, {}]);
    const eventId = String(body.event_id);
    const sealed = await rig.engine.ledger.preconditionOf(eventId);
    expect(openPart(rig.engine.ring, eventId, 'precondition', sealed as NonNullable<typeof sealed>)).toEqual({ url: ORDER_URL });
    const { rows } = await rig.engine.db.pool.query<{ name: string }>(`SELECT quote_ident(tablename) AS name FROM pg_tables
      WHERE schemaname = 'public' AND has_table_privilege(schemaname || '.' || quote_ident(tablename), 'SELECT')`);
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['ledger_entry', 'notification', 'notification_state', 'outbox', 'sealed_payload']));
    for (const { name } of rows) {
      const found = await rig.engine.db.pool.query(`SELECT 1 FROM ${name} AS t WHERE t::text LIKE '%TOLD-TO-NOBODY%'`);
      expect([name, found.rowCount]).toEqual([name, 0]);
    }
    expect(rig.logged()).not.toContain('TOLD-TO-NOBODY');
    const state = (await rig.engine.load(eventId))?.state;
    expect(state?.precondition).toMatchObject({ onError: 'send', steps: [1] });
    expect(state?.payload?.parts).toEqual(['variables', 'addresses', 'precondition']);
  });

  test('is a part of the request: another one under the same key is another request', async () => {
    const first = await send(order(), { as: 'same' });
    expect((await send(order(), { as: 'same' })).body).toEqual({ ...first.body, replayed: true });
    expect((await send(order({ precondition_url: `${ORDER_URL}?x` }), { as: 'same' })).status).toBe(409);
  });

  test('may be left out: then nobody is asked', async () => {
    const { status, body } = await send(order({ precondition_url: undefined }));
    expect(status).toBe(202);
    expect((await rig.engine.load(String(body.event_id)))?.state.precondition).toBeNull();
  });

  test.each([
    ['http', 'http://shop.example.com/o/1', /is not https/],
    ['another host', 'https://shop.example.org/o/1', /not at an origin that may be asked: use one of https:\/\/shop\.example\.com/],
    ['this machine', 'https://127.0.0.1/o/1', /not at an origin/],
    ['a user', 'https://me:pw@shop.example.com/o/1', /holds a user or a password/],
    ['a fragment', 'https://shop.example.com/o/1#a', /has a fragment/],
    ['no URL', 'order 1', /is not a URL/],
  ])('with %s is refused, with field and cure and without the URL', async (_name, url, detail) => {
    const { status, body } = await send(order({ precondition_url: url }));
    expect([status, body]).toEqual([422, expect.objectContaining({ code: 'precondition_url_not_allowed', field: 'precondition_url', detail: expect.stringMatching(detail) })]);
    expect(JSON.stringify(body)).not.toContain(url);
  });

  test('that is too long is refused', async () => {
    expect(await send(order({ precondition_url: `https://shop.example.com/${'x'.repeat(2_000)}` }))).toMatchObject({ status: 400, body: { field: 'precondition_url' } });
  });

  test('is refused where the deployment asks nobody, and where the policy asks nothing', async () => {
    expect(await send(order(), { to: without })).toMatchObject({ status: 422, body: { code: 'precondition_url_not_allowed', detail: expect.stringContaining('PRECONDITION_ORIGINS') } });
    const urgent = order({ purpose: 'game-support-urgent', variables: { category: 'c', queue: 'q', region: 'US', locale: 'en', player_ref: 'p', message: 'm', received_at: 'now', ticket_url: 'https://example.com/t' } });
    expect(await send(urgent)).toMatchObject({ status: 422, body: { code: 'precondition_not_supported', field: 'precondition_url' } });
  });

  test('that was accepted once stays accepted where it would be refused by now', async () => {
    const first = await send(order(), { as: 'kept' });
    expect((await send(order(), { to: without, as: 'kept' })).body).toMatchObject({ event_id: first.body.event_id, replayed: true });
  });

  test('goes with the last submission that is possible: with a close', async () => {
    const { body } = await send(order());
    const eventId = String(body.event_id);
    await postJson(`${intake.url}/notifications/${eventId}/close`, { reason: 'accepted' }, { Authorization: `Bearer ${key}` });
    expect(await rig.engine.ledger.preconditionOf(eventId)).toBeNull();
    expect((await rig.engine.load(eventId))?.state.payload?.destroyed).toHaveProperty('precondition');
  });
});
