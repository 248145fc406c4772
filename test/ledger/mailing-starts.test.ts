import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readUnsubscribeToken, unsubscribe, unsubscribeToken } from '../../shared/delivery/unsubscribe.ts';
import type { Unsubscription } from '../../shared/delivery/unsubscribe.ts';
import { mailingVersions } from '../support/mailing.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, untiringPolicies, urgentRequest } from '../support/test-engine.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
beforeAll(async () => {
  database = await createTestDatabase();
  const { policies, templates } = mailingVersions();
  engine = await createTestEngine({ url: database.url, policies: [...untiringPolicies(), ...policies], templates });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

const email = 'reader@example.com';
const link = (): Unsubscription => readUnsubscribeToken(engine, unsubscribeToken(engine, { tenant: 'default', email, madeAt: engine.now() }) as string) as Unsubscription;
const accept = async (purpose: 'shop-offers' | 'game-support-routine', by: Pick<Engine, 'accept'> = engine): Promise<string> => {
  const request = urgentRequest();
  const outcome = await acceptNotification({ ...engine, ...by }, {
    ...request, purpose,
    recipient: { ...request.recipient, sms: null, email, consent: [{ channel: 'email', basis: 'marketing', reference: 'c' }, { channel: 'email', basis: 'on_call_duty', reference: 'c' }] },
    ...(purpose === 'shop-offers' ? { variables: () => ({ offer: 'A lamp', unsubscribe_url: 'https://mail.example.com/unsubscribe/x' }) } : {}),
  });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
/** Starts the submission of the email; its reader unsubscribes between the decision and its append. */
const startWhileUnsubscribing = async (eventId: string) => {
  let first = true;
  const late = {
    ...engine,
    append: async (append: Parameters<Engine['append']>[0]) => {
      if (first) await unsubscribe(engine, link());
      first = false;
      return engine.append(append);
    },
  };
  await decideAndAppend(late, eventId, { provenance: { actor: 'test', requestId: 'r' }, command: () => ({ kind: 'start_submission', attempt: `${eventId}.email.1` }) });
  const attempt = (await engine.load(eventId))?.state.attempts[0];
  return [attempt?.state, attempt?.submissions];
};

test('no submission of commercial mail starts once its reader unsubscribed, though it was decided on before; mail that he needs does', async () => {
  const [offer, needed] = [await accept('shop-offers'), await accept('game-support-routine')];
  expect(await startWhileUnsubscribing(needed)).toEqual(['submitting', 1]);
  await engine.db.pool.query("UPDATE suppression SET removed_at = now(), removed_by = 'x', removed_reason = 'test'");
  expect(await startWhileUnsubscribing(offer)).toEqual(['suppressed', 0]);
});

test('none is planned where its reader unsubscribed between decision and acceptance', async () => {
  await engine.db.pool.query("UPDATE suppression SET removed_at = now(), removed_by = 'x', removed_reason = 'test' WHERE removed_at IS NULL");
  const late: Pick<Engine, 'accept'> = { accept: async (one) => {
    await unsubscribe(engine, link());
    return engine.accept(one);
  } };
  expect((await engine.load(await accept('shop-offers', late)))?.state.steps).toMatchObject([{ phase: 'skipped', reason: 'suppressed' }]);
  expect((await engine.load(await accept('game-support-routine')))?.state.steps).toMatchObject([{ phase: 'started' }]);
});

test('what bars our sender altogether bars this mail as well', async () => {
  await engine.db.pool.query("UPDATE suppression SET removed_at = now(), removed_by = 'x', removed_reason = 'test' WHERE removed_at IS NULL");
  const offer = await accept('shop-offers');
  await engine.ledger.suppress({ tenant: 'default', channel: 'email', addressPrint: link().addressPrint, senderPrint: Buffer.from(engine.senderPrints.email ?? '', 'hex'), reason: 'opted_out', source: 'provider', at: engine.now(), actor: 'x' });
  expect((await engine.load(await accept('shop-offers')))?.state.steps).toMatchObject([{ phase: 'skipped', reason: 'suppressed' }]);
  expect(await startWhileUnsubscribing(offer)).toEqual(['suppressed', 0]);
});
