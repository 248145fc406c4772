import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { startIntake } from '../../services/intake/intake.ts';
import { renderAgain } from '../../shared/delivery/render-again.ts';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import { insertApiKey } from '../../shared/ledger/api-keys.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import { ask, postForm, postJson, roster } from '../intake/rig.ts';
import { describeOnBackends } from '../support/backends.ts';
import { anOffer, linkOf, mailingVersions, ONE_CLICK_BODY } from '../support/mailing.ts';
import { untiringPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const PUBLIC_URL = 'https://mail.example.com/tocsin';

describeOnBackends('somebody who unsubscribes from commercial mail', (backend) => {
  let world: World;
  let intake: RunningIntake;
  let headers: Record<string, string>;
  let count = 0;
  beforeAll(async () => {
    const { policies, templates } = mailingVersions();
    world = await openWorld({ backend, policies: [...untiringPolicies(), ...policies], templates });
    intake = await startIntake({
      engine: world.engine, roster, dashboardUrl: 'https://dashboard.example.com', log: world.engine.log,
      config: { host: '127.0.0.1', port: 0, publicUrl: PUBLIC_URL, demo: false, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 } },
    });
    const key = generateApiKey();
    await insertApiKey(world.engine.db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant: 'default', label: 'test', now: world.now() });
    headers = { Authorization: `Bearer ${key.text}` };
  });
  afterAll(async () => {
    await intake.close();
    await world.close();
  });

  const send = async (body: Record<string, unknown>): Promise<string> => {
    count += 1;
    const answer = await postJson(`${intake.url}/notifications`, body, { ...headers, 'Idempotency-Key': `mail-${count}` });
    expect([answer.status, answer.body['code']]).toEqual([202, undefined]);
    return String(answer.body['event_id']);
  };
  const mailOf = async (eventId: string) => {
    await world.until(eventId, (state) => state.attempts.some((attempt) => attempt.channel === 'email' && attempt.state === 'submitted'));
    return world.sandbox.messages().find((message) => message.attempt_key === `${eventId}.email.1`);
  };
  /** Where the link of a message leads on this machine. */
  const here = (link: URL): string => `${intake.url}${link.pathname.replace('/tocsin', '')}`;
  const reset = (email: string): Record<string, unknown> => ({
    purpose: 'password-reset', recipient: { ref: 'r', email, region: 'US', locale: 'en', consent: ['email:contract'] },
    variables: { service: 'Example', host: 'www.example.com', valid_until: '12:00 UTC', reset_code: '123456', reset_url: 'https://www.example.com/reset/abc' },
  });

  test('posts one click to the link of the header, gets no more of it and reads why; his password still comes', async () => {
    const email = 'Ada.L@example.com';
    const first = await send(anOffer(email));
    const mail = await mailOf(first);
    expect(mail?.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
    const link = linkOf(mail?.headers['list-unsubscribe']);
    expect(link.href).toMatch(/^https:\/\/mail\.example\.com\/tocsin\/unsubscribe\/[A-Za-z0-9_-]{60,}$/);
    expect([mail?.text, mail?.html].every((text) => text?.includes(link.href))).toBe(true);
    // Its variables went as it settled; the link has to do without them.
    expect((await renderAgain(world.engine, first))?.map(({ verdict }) => verdict)).toEqual(['destroyed']);

    for (const method of ['GET', 'HEAD']) expect((await fetch(here(link), { method })).status).toBe(200);
    const second = await send(anOffer(email));
    await mailOf(second);
    const answer = await postForm(here(link), ONE_CLICK_BODY);
    expect([answer.status, answer.body, answer.headers.get('set-cookie')]).toEqual([200, { status: 'unsubscribed' }, null]);
    expect((await world.ask('SELECT tenant, channel, reason, source, actor, address_print FROM suppression')).map(({ address_print: print, ...row }) => [row, (print as Buffer).equals(addressPrint(world.engine.ring, 'email', email))]))
      .toEqual([[{ tenant: 'default', channel: 'email', reason: 'unsubscribed', source: 'unsubscribe', actor: 'recipient' }, true]]);

    const third = await send(anOffer(email.toLowerCase()));
    expect([await world.status(third), (await world.state(third)).steps.map(({ phase, reason }) => [phase, reason])]).toEqual(['suppressed', [['skipped', 'suppressed']]]);
    const { body } = await ask(`${intake.url}/notifications/${third}/explanation`, { headers });
    expect(String((body['explanation'] as string[]).join(' '))).toContain('its destination is on the suppression list');
    expect(world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(third))).toEqual([]);
    expect((await postForm(here(link), ONE_CLICK_BODY)).status).toBe(200);
    await mailOf(await send(reset(email)));
    await mailOf(await send(anOffer('somebody-else@example.com')));
  });

  test('can do so after everything else of the notification was destroyed, and long after it', async () => {
    const email = 'late@example.com';
    const eventId = await send(anOffer(email));
    const link = linkOf((await mailOf(eventId))?.headers['list-unsubscribe']);
    await world.ask('UPDATE recipient SET key_id = NULL, box = NULL, erased_at = $2 WHERE event_id = $1', [eventId, new Date(world.now())]);
    expect(await world.ask('SELECT FROM sealed_payload WHERE event_id = $1 AND box IS NOT NULL', [eventId])).toEqual([]);
    world.jump(45 * 86_400_000);
    expect((await postForm(here(link), ONE_CLICK_BODY)).status).toBe(200);
    expect(await world.status(await send(anOffer(email)))).toBe('suppressed');
    world.jump(400 * 86_400_000);
    expect((await postForm(here(link), ONE_CLICK_BODY)).status).toBe(404);
  });

  test('is not written to by what waited in the queue when the answer came', async () => {
    const email = 'waiting@example.com';
    const link = linkOf((await mailOf(await send(anOffer(email))))?.headers['list-unsubscribe']);
    expect(world.sandbox.setScenario(email, [{ submit: 'throttle' }] as never)).toBeNull();
    const eventId = await send(anOffer(email));
    await world.until(eventId, (state) => state.attempts[0]?.submissions === 1 && state.attempts[0].state === 'queued');
    expect((await postForm(here(link), ONE_CLICK_BODY)).status).toBe(200);
    await world.advance(60_000);
    const state = await world.state(eventId);
    expect([state.attempts[0]?.state, state.attempts[0]?.reason, state.attempts[0]?.submissions]).toEqual(['suppressed', 'suppressed', 1]);
    expect(world.sandbox.refused().filter((one) => one.attempt_key?.startsWith(eventId))).toHaveLength(1);
  });
});
