import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { ask, createRig, postJson } from './rig.ts';
import type { Answer, Rig } from './rig.ts';
import { sendCommand } from '../../services/cli/send-command.ts';
import { run } from '../cli/support.ts';
import { openPart } from '../../shared/delivery/payload.ts';

let rig: Rig;
let intake: RunningIntake;
let key: string;
let strangersKey: string;

beforeAll(async () => {
  rig = await createRig();
  intake = await rig.start();
  key = await rig.createKey('acme');
  strangersKey = await rig.createKey('stranger');
});
afterAll(() => rig.close());

const variables = { category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en', player_ref: 'p', message: 'm', received_at: 'now', ticket_url: 'https://example.com/t' };
const intent = (changes: Record<string, unknown> = {}, recipient: Record<string, unknown> = {}): Record<string, unknown> => ({
  purpose: 'game-support-urgent',
  recipient: { ref: 'user-1', sms: '+1 202 555 0101', email: 'Someone@Example.com', region: 'US', locale: 'en', consent: ['sms:on_call_duty', { channel: 'email', basis: 'contract', reference: 'terms/7' }], ...recipient },
  variables, ...changes,
});

let keys = 0;
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  postJson(`${intake.url}${path}`, body, { Authorization: `Bearer ${key}`, ...headers });
const send = (body: unknown, idempotencyKey = `k-${keys += 1}`): Promise<Answer> => post('/notifications', body, { 'Idempotency-Key': idempotencyKey });
const get = (path: string, as = key): Promise<Answer> => ask(`${intake.url}${path}`, { headers: { Authorization: `Bearer ${as}` } });

describe('sending a notification', () => {
  it('answers 202 with a receipt, and the same key and body 200 with the same one', async () => {
    const first = await send(intent(), 'once');
    expect(first.status).toBe(202);
    expect(first.body).toEqual({ event_id: expect.stringMatching(/^evt_/), status: 'accepted', received_at: expect.any(String), status_url: `${intake.url}/notifications/${String(first.body.event_id)}` });
    const again = await send(intent({}, { sms: '+12025550101' }), 'once');
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ ...first.body, replayed: true });
  });

  it('takes the same consents in another order as the same request', async () => {
    const consent = ['sms:on_call_duty', { channel: 'email', basis: 'contract', reference: 'terms/7' }, 'email:on_call_duty'];
    const first = await send(intent({}, { consent }), 'consents');
    expect((await send(intent({}, { consent: consent.toReversed() }), 'consents')).body).toEqual({ ...first.body, replayed: true });
    expect((await send(intent({}, { consent: consent.slice(1) }), 'consents')).status).toBe(409);
  });

  it('keeps a replay that was accepted under templates which declared more', async () => {
    const { versions } = rig.engine;
    const body = intent({ variables: { ...variables, shift: 'night' } });
    rig.engine.versions = { ...versions, active: async (purpose) => {
      const bound = await versions.active(purpose);
      const more = [...bound?.templates ?? []].map(([name, one]) => [name, { ...one, variables: { ...one.variables, shift: { type: 'string' as const, max: 9 } } }] as const);
      return bound && { ...bound, templates: new Map(more) };
    } };
    try {
      expect((await send(body, 'declared-once')).status).toBe(202);
    } finally {
      rig.engine.versions = versions;
    }
    expect((await send(body, 'declared-once')).body).toMatchObject({ replayed: true });
    expect((await send(body)).body).toMatchObject({ code: 'unknown_variable', field: 'variables.shift' });
    expect((await send(intent({ subject: 'Any caller may give one' }))).status).toBe(202);
  });

  it('writes nothing that a caller made up into the rows that are never erased', async () => {
    const marked = 'p_4111111111111111';
    const { body } = await post('/notifications', intent({ subject: marked }, { ref: marked, locale: 'en-x-41111111-11111111', consent: ['sms:on_call_duty', `sms:${marked}`, { channel: 'email', basis: 'on_call_duty', reference: marked }] }),
      { 'Idempotency-Key': `order ${marked}`, 'X-Request-Id': marked });
    const eventId = String(body.event_id);
    expect((await post(`/notifications/${eventId}/close`, { reason: marked }, { 'X-Request-Id': marked })).body).toMatchObject({ closed: { reason: 'other' } });
    for (const table of ['notification', 'ledger_entry', 'attempt', 'notification_state', 'outbox']) {
      const { rows } = await rig.engine.db.pool.query<{ dump: string }>(`SELECT t::text AS dump FROM ${table} t WHERE event_id = $1`, [eventId]);
      for (const { dump } of rows) expect(dump).not.toMatch(/4111111/);
    }
    expect(rig.logged()).not.toContain('4111111');
  });

  it('refuses another body under the same key', async () => {
    await send(intent(), 'taken');
    expect((await send(intent({ variables: { ...variables, message: 'other' } }), 'taken')).body).toMatchObject({ status: 409, code: 'idempotency_key_reused' });
  });

  it('makes one notification of many concurrent requests under one key', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(intent(), 'raced')));
    expect(new Set(answers.map((one) => one.body.event_id)).size).toBe(1);
    expect(answers.filter((one) => one.status === 202)).toHaveLength(1);
  });

  test.each<[string, unknown, Record<string, unknown>]>([
    ['an unknown purpose', intent({ purpose: 'no-such-purpose' }), { status: 422, code: 'unknown_purpose', field: 'purpose', known_purposes: expect.arrayContaining(['account-report', 'game-support-urgent']) }],
    ['an expiry in the past', intent({ expires_at: '2020-01-01T00:00:00Z' }), { status: 422, code: 'expiry_too_short', field: 'expires_at' }],
    ['an expiry without an offset', intent({ expires_at: '2030-01-01T00:00:00' }), { status: 400, field: 'expires_at' }],
    ['variables that a step of the purpose cannot be rendered from', intent({ variables: { category: 'x' } }), { status: 422, code: 'not_renderable', field: 'variables.queue' }],
    ['what is no artifact', intent({ artifacts: ['art_1'] }), { status: 400, code: 'invalid_field', field: 'artifacts.0' }],
    ['an artifact with a purpose that carries none', intent({ artifacts: ['art_01KB8Z5Q6W3T9X2M4N7P8R0S1V'] }), { status: 422, code: 'artifacts_not_carried', field: 'artifacts' }],
    ['a precondition', intent({ precondition_url: 'https://example.com/still' }), { status: 422, code: 'precondition_not_supported' }],
    ['no address at all', intent({}, { sms: undefined, email: undefined }), { status: 400, code: 'no_address', field: 'recipient' }],
    ['a number that is none', intent({}, { sms: '12' }), { status: 400, field: 'recipient.sms' }],
    ['a consent of an unknown channel', intent({}, { consent: ['fax:consent'] }), { status: 400, field: 'recipient.consent.0' }],
    ['a variable that is no text', intent({ variables: { ...variables, message: 7 } }), { status: 400, field: 'variables.message' }],
    ['a subject with a line break', intent({ subject: 'Hi\r\nBcc: x@example.com' }), { status: 400, field: 'subject' }],
    ['a variable that no template of the purpose declares', intent({ variables: { ...variables, mesage: 'm', tiket: 't' } }), { status: 422, code: 'unknown_variable', field: 'variables.mesage', errors: [{ field: 'variables.mesage' }, { field: 'variables.tiket' }] }],
    ['more than a hundred variables', intent({ variables: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`v${index}`, 'x'])) }), { status: 400, code: 'too_many_fields' }],
    ['an expiry in another century', intent({ expires_at: '2126-01-01T00:00:00Z' }), { status: 422, code: 'expiry_too_long', field: 'expires_at' }],
    ['an unknown field', intent({ priority: 'high' }), { status: 400, code: 'unknown_field', field: 'priority' }],
    ['an unknown field of the recipient', intent({}, { name: 'Ada' }), { status: 400, code: 'unknown_field', field: 'recipient.name' }],
  ])('refuses %s', async (_what, body, wanted) => {
    const answer = await send(body);
    expect(answer.status).toBe(wanted.status);
    expect(answer.body).toMatchObject(wanted);
  });

  it('names each variable that does not fit, its length and its bound, whichever step it is for', async () => {
    const faults = async (over: Record<string, unknown>) => (await send(intent({ variables: { ...variables, ...over } }))).body;
    expect(await faults({ queue: 'q'.repeat(33), region: 'USA' })).toMatchObject({
      status: 422, code: 'not_renderable', field: 'variables.queue',
      errors: [
        { field: 'variables.queue', problem: expect.stringContaining('is longer than 32: it has 33 characters (template game-support-urgent-sms/'), cure: 'shorten it to at most 32 characters' },
        { field: 'variables.region', problem: expect.stringContaining('is longer than 2: it has 3 characters'), cure: 'shorten it to at most 2 characters' },
      ],
    });
    // Of the text and of the email at once, each variable once.
    const missing = (await send(intent({ variables: { category: 'c' } }))).body['errors'] as { field: string }[];
    expect(missing.map(({ field }) => field).sort()).toEqual(Object.keys(variables).filter((name) => name !== 'category').map((name) => `variables.${name}`).sort());
    expect(await faults({ player_ref: 'p'.repeat(201) })).toMatchObject({ field: 'variables.player_ref', errors: [{ problem: expect.stringMatching(/longer than 200: it has 201 characters \(template game-support-urgent-email/), cure: 'shorten it to at most 200 characters' }] });
    expect(await faults({ ticket_url: 'nowhere' })).toMatchObject({ code: 'not_renderable', field: 'variables.ticket_url', errors: [{ problem: expect.stringContaining('is not an http(s) address'), cure: expect.stringContaining('https://') }] });
    expect(await faults({ message: undefined })).toMatchObject({ code: 'not_renderable', field: 'variables.message', errors: [{ problem: expect.stringContaining('is missing'), cure: expect.stringContaining('give it') }] });
  });

  describe('links in variables', () => {
    const reset = (resetUrl: string, host = 'accounts.example.com') => intent({ purpose: 'password-reset', variables: { service: 'Harbour', host, valid_until: '12:10 UTC', reset_code: '481999', reset_url: resetUrl } }, { consent: ['sms:contract', 'email:contract'] });

    test.each([
      ['plain http', 'http://accounts.example.com/reset/TOKEN', /is an http link/, /give an https link/],
      ['a user before the host', 'https://accounts.example.com@evil.example/reset/TOKEN', /holds a user or a password/, /leave them out/],
    ])('are refused with %s, by the variable that holds them and never with what it held', async (_what, url, problem, cure) => {
      const { status, body, text } = await send(reset(url));
      expect([status, body]).toEqual([422, expect.objectContaining({ code: 'link_not_allowed', field: 'variables.reset_url', errors: [{ field: 'variables.reset_url', problem: expect.stringMatching(problem), cure: expect.stringMatching(cure) }] })]);
      expect(text).not.toMatch(/TOKEN|evil/);
    });

    test('lead where they may: anywhere over https while nobody says where, and over plain http to this machine', async () => {
      expect((await send(reset('https://anywhere.example/reset/t', 'anywhere.example'))).status).toBe(202);
      expect((await send(reset('http://127.0.0.1:3000/reset/t', '127.0.0.1'))).status).toBe(202);
    });

    test('lead to the hosts of the deployment alone; what was accepted before stays accepted', async () => {
      const bounded = await rig.start({ linkHosts: ['accounts.example.com', 'localhost:3000'] });
      const there = (body: unknown, idempotencyKey: string) => postJson(`${bounded.url}/notifications`, body, { Authorization: `Bearer ${key}`, 'Idempotency-Key': idempotencyKey });
      const poisoned = reset('https://accounts.example.com.evil.example/reset/t', 'evil.example');
      expect((await send(poisoned, 'poisoned')).status).toBe(202);
      expect((await there(poisoned, 'poisoned')).body).toMatchObject({ replayed: true });
      for (const [index, url] of ['https://accounts.example.com.evil.example/', 'https://accounts.example.com:8443/', 'https://evil.example/accounts.example.com', 'https:///evil.example/', 'http://127.0.0.1/'].entries()) {
        expect((await there(reset(url), `away-${index}`)).body).toMatchObject({ status: 422, field: 'variables.reset_url', code: 'link_not_allowed' });
      }
      for (const [index, url] of ['https://accounts.example.com/reset/t', 'https://ACCOUNTS.example.com:443/reset/t', 'http://localhost:3000/t'].entries()) expect((await there(reset(url, url.includes('localhost') ? 'localhost' : undefined), `home-${index}`)).status).toBe(202);
    });
  });

  it('wants an idempotency key', async () => {
    expect((await post('/notifications', intent())).body).toMatchObject({ status: 400, code: 'idempotency_key_required', field: 'Idempotency-Key' });
  });

  it('says why a channel was not used where none was: in the receipt, its repetition, the view, the feed, and show', async () => {
    const body = intent({}, { consent: ['sms:marketing'] });
    const { status, body: receipt } = await send(body, 'no-consent');
    const why = { status: 'suppressed', reason: 'no_consent', skipped: [{ channel: 'sms', reason: 'no_consent' }, { channel: 'email', reason: 'no_consent' }] };
    expect([status, receipt]).toEqual([202, expect.objectContaining(why)]);
    expect((await send(body, 'no-consent')).body).toEqual({ ...receipt, replayed: true });
    const eventId = String(receipt.event_id);
    expect((await get(`/notifications/${eventId}`)).body).toMatchObject(why);
    const env = { DATABASE_URL: rig.database.url, TOCSIN_DATA_DIR: '/nonexistent' };
    expect((await run(['show', eventId], { env })).out).toContain('suppressed (no_consent)');
    expect(JSON.parse((await run(['show', eventId, '--json'], { env })).out)).toMatchObject(why);
    // Without an address it is another reason than without a consent: each is told, and the last one stands for the whole.
    const differing = await send(intent({}, { sms: null, consent: ['email:marketing'] }));
    expect(differing.body).toMatchObject({ status: 'suppressed', reason: 'no_consent', skipped: [{ channel: 'sms', reason: 'no_address' }, { channel: 'email', reason: 'no_consent' }] });
    expect((await run(['show', String(differing.body.event_id)], { env })).out).toContain('suppressed (sms: no_address, email: no_consent)');
    expect((await get('/notifications?limit=200')).body['items']).toContainEqual(expect.objectContaining({ event_id: eventId, ...why }));
  });

  it('records a region without a policy as policy_rejected', async () => {
    const { status, body } = await send(intent({}, { region: 'BR' }));
    expect(status).toBe(202);
    expect(body).toMatchObject({ status: 'policy_rejected', reason: 'region' });
    expect((await get(`/notifications/${String(body.event_id)}`)).body).toMatchObject({ status: 'policy_rejected', attempts: [] });
  });
});

describe('keys', () => {
  it('answers no key, a wrong key and a malformed one alike, with how to authenticate', async () => {
    const answers = await Promise.all([undefined, `Bearer tk_${'0'.repeat(12)}_${'A'.repeat(43)}`, 'Bearer nonsense', `Basic ${btoa('a:b')}`].map((authorization) =>
      postJson(`${intake.url}/notifications`, intent(), authorization === undefined ? {} : { Authorization: authorization })));
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.body.code).toBe('unauthorized');
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });

  it('answers an unknown id, another tenant\'s id and nonsense alike', async () => {
    const eventId = String((await send(intent())).body.event_id);
    const strip = ({ status, body }: Answer) => ({ status, ...body, request_id: '' });
    const answers = (await Promise.all([
      get(`/notifications/${eventId}`, strangersKey), get('/notifications/evt_00000000000000000000000000'), get('/notifications/nonsense'),
      get(`/notifications/${eventId}/history`, strangersKey), get(`/notifications/${eventId}/explanation`, strangersKey),
      postJson(`${intake.url}/notifications/${eventId}/close`, { reason: 'taken' }, { Authorization: `Bearer ${strangersKey}` }),
    ])).map(strip);
    expect(answers[0]).toMatchObject({ status: 404, code: 'not_found' });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect((await get(`/notifications/${eventId}`)).body.status).toBe('accepted');
  });
});

test('the example in the help of `tocsin send` that gives everything itself is accepted', async () => {
  const line = sendCommand.examples.map(([example]) => example).find((example) => example.includes('--var '));
  const words = [...String(line).matchAll(/(?:[^\s"]|"[^"]*")+/g)].map(([word]) => word.replaceAll('"', ''));
  const sent = await run([...words, '--json'], { env: { TOCSIN_URL: intake.url, TOCSIN_API_KEY: key } });
  expect([sent.code, sent.err, JSON.parse(sent.out)]).toEqual([0, '', expect.objectContaining({ status: 'accepted' })]);
});

describe('reading a notification', () => {
  it('shows status, policy, template and attempts, neutral of providers', async () => {
    const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString();
    const eventId = String((await send(intent({ expires_at: expiresAt.replace('Z', '+02:00') }))).body.event_id);
    const { body, text } = await get(`/notifications/${eventId}`);
    expect(body).toMatchObject({
      event_id: eventId, status: 'accepted', paused: false, closed: null, completed_at: null, purpose: 'game-support-urgent',
      policy: { version: 2 }, template: { owner: 'ours', name: 'game-support-urgent-sms', version: 1, locale: 'en' }, expires_at: new Date(Date.parse(expiresAt) - 7_200_000).toISOString(),
      attempts: [{ channel: 'sms', sequence: 1, outcome: 'queued', reason: null, submitted_at: null, settled_at: null, decision_deadline_at: expect.any(String) }],
      steps: [{ channel: 'sms', phase: 'started', reason: null }, { channel: 'email', phase: 'waiting', reason: null }],
    });
    expect(text).not.toMatch(/twilio|smtp|example\.com|2025550/i);
  });

  it('tells the history from the first entry on, each chained to the one before', async () => {
    const eventId = String((await send(intent())).body.event_id);
    const { body } = await get(`/notifications/${eventId}/history`);
    const entries = body.entries as { version: number; kind: string; actor: string; hash: string; prev_hash: string; details: Record<string, unknown> }[];
    expect(entries.map((entry) => entry.version)).toEqual(entries.map((_entry, index) => index + 1));
    expect(entries[0]).toMatchObject({ kind: 'NotificationAccepted', actor: expect.stringMatching(/^key:[0-9a-f]{12}$/), details: { purpose: 'game-support-urgent' } });
    for (const [index, entry] of entries.slice(1).entries()) expect(entry.prev_hash).toBe(entries[index]?.hash);
  });

  it('explains in words why each channel was or was not used', async () => {
    const eventId = String((await send(intent({}, { consent: ['email:contract'] }))).body.event_id);
    const { status, body } = await get(`/notifications/${eventId}/explanation`);
    expect(status).toBe(200);
    expect((body.explanation as string[]).join('\n')).toMatch(/no_consent/);
  });
});

describe('a query of a call that has none', () => {
  const CALLS = ['GET /notifications/:id', 'GET /notifications/:id/history', 'GET /notifications/:id/explanation', 'POST /notifications', 'POST /notifications/close', 'POST /notifications/:id/close', 'POST /notifications/:id/pause', 'POST /notifications/:id/resume'];
  it.each(CALLS)('is refused at %s, as at the feed, and nothing is done', async (call) => {
    const eventId = String((await send(intent())).body.event_id);
    const [method, path] = call.replace(':id', eventId).split(' ') as ['GET' | 'POST', string];
    const answer = method === 'GET' ? await get(`${path}?frob=1`) : await post(`${path}?frob=1`, { reason: 'taken' }, { 'Idempotency-Key': 'never-taken' });
    const told = (await get('/notifications?frob=1')).body;
    expect(answer.body).toMatchObject({ status: 400, code: 'unknown_field', field: 'frob' });
    expect({ ...answer.body, request_id: null }).toEqual({ ...told, request_id: null });
    expect((await get(`/notifications/${eventId}`)).body).toMatchObject({ closed: null, paused: false });
    expect((await get(`/notifications/${eventId}?`)).status).toBe(200);
  });
  it('is nobody\'s business without a key', async () => {
    expect((await ask(`${intake.url}/notifications/evt_00000000000000000000000000?frob=1`)).status).toBe(401);
  });
});

describe('a variable that no template declares', () => {
  const askedOf = async (purpose: string, given: Record<string, string>) => (await send(intent({ purpose, variables: given }))).body;
  it.each(['game-support-urgent', 'game-support-routine', 'password-reset', 'seller-order', 'account-report', 'report-code'])('is told which there are, each of which may be given: %s', async (purpose) => {
    const cure = /^remove it, or use one of (.+)$/.exec(String((await askedOf(purpose, { frob: 'x' }) as { errors?: { cure: string }[] }).errors?.[0]?.cure))?.[1];
    const advised = String(cure).split(', ');
    expect(advised.length).toBeGreaterThan(0);
    for (const name of advised) expect([name, (await askedOf(purpose, { [name]: 'x' })).code]).not.toEqual([name, 'unknown_variable']);
  });
});

describe('closing', () => {
  it('closes once: the first reason stands, and asking again is a replay', async () => {
    const eventId = String((await send(intent())).body.event_id);
    const first = await post(`/notifications/${eventId}/close`, { reason: 'taken', actor: 'ada.moreno' });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ event_id: eventId, status: 'closed', closed: { reason: 'taken', at: expect.any(String) }, in_flight: false, replayed: false });
    const again = await post(`/notifications/${eventId}/close`, { reason: 'cancelled' });
    expect(again.body).toEqual({ ...first.body, replayed: true });
    const { body } = await get(`/notifications/${eventId}`);
    expect(body).toMatchObject({ status: 'closed', closed: { reason: 'taken' }, attempts: [{ outcome: 'cancelled', reason: 'closed' }] });
    expect(body.completed_at).toBe((body.closed as { at: string }).at);
  });

  it('closes by idempotency key, of its own tenant only', async () => {
    const eventId = (await send(intent(), 'by-key')).body.event_id;
    const foreign = await postJson(`${intake.url}/notifications/close`, { idempotency_key: 'by-key', reason: 'taken' }, { Authorization: `Bearer ${strangersKey}` });
    expect(foreign.status).toBe(404);
    // Whether nobody or somebody else sent under it: one answer, which speaks of the key.
    const unknown = await post('/notifications/close', { idempotency_key: 'nobody-sent-this', reason: 'taken' });
    expect(unknown.body).toMatchObject({ status: 404, code: 'not_found', field: 'idempotency_key', detail: expect.stringMatching(/^idempotency_key is that of no notification/) });
    expect({ ...foreign.body, request_id: null }).toEqual({ ...unknown.body, request_id: null });
    expect((await post('/notifications/close', { idempotency_key: 'by-key', reason: 'cancelled' })).body).toMatchObject({ event_id: eventId, closed: { reason: 'cancelled' } });
    expect((await get(`/notifications/${String(eventId)}`)).body.completed_at).toBeNull();
  });

  it('keeps a sentence out of the ledger: it is sealed, and booked as other', async () => {
    const eventId = String((await send(intent())).body.event_id);
    const { body } = await post(`/notifications/${eventId}/close`, { reason: 'Called them at +1 202 555 0101' });
    expect(body).toMatchObject({ closed: { reason: 'other' } });
    expect((await get(`/notifications/${eventId}/history`)).text).not.toContain('Called');
  });

  it.each(['consumed', 'accepted', 'taken', 'completed', 'resolved', 'cancelled', 'duplicate', 'other'])('books %s as the code it is', async (reason) => {
    const eventId = String((await send(intent())).body.event_id);
    expect((await post(`/notifications/${eventId}/close`, { reason })).body).toMatchObject({ closed: { reason } });
  });

  it('seals what only looks like a code, and can read it again', async () => {
    const eventId = String((await send(intent())).body.event_id);
    expect((await post(`/notifications/${eventId}/close`, { reason: 'p_4111111111111111' })).body).toMatchObject({ closed: { reason: 'other' } });
    const { rows } = await rig.engine.db.pool.query<{ key_id: string; box: Buffer }>('SELECT key_id, box FROM sealed_payload WHERE event_id = $1 AND part = \'operator_text\'', [eventId]);
    expect(rows.map((row) => openPart(rig.engine.ring, eventId, 'operator_text', { keyId: row.key_id, box: row.box }))).toEqual([{ close: 'p_4111111111111111' }]);
  });

  it('refuses an actor that could be a number, and a reason with nothing to see', async () => {
    const eventId = String((await send(intent())).body.event_id);
    expect((await post(`/notifications/${eventId}/close`, { reason: 'taken', actor: 'p_4111-1111' })).body).toMatchObject({ status: 400, field: 'actor' });
    expect((await post(`/notifications/${eventId}/close`, { reason: '\u200b' })).body).toMatchObject({ status: 400, field: 'reason' });
  });

  it('refuses an actor that is an address, a missing reason, and what was never started', async () => {
    const eventId = String((await send(intent())).body.event_id);
    expect((await post(`/notifications/${eventId}/close`, { reason: 'taken', actor: 'ada@example.com' })).body).toMatchObject({ status: 400, field: 'actor' });
    expect((await post(`/notifications/${eventId}/close`, {})).body).toMatchObject({ status: 400, field: 'reason' });
    const rejected = String((await send(intent({}, { region: 'BR' }))).body.event_id);
    expect((await post(`/notifications/${rejected}/close`, { reason: 'taken' })).body).toMatchObject({ status: 409, code: 'not_open' });
  });
});

describe('pausing and resuming', () => {
  it('pauses once: the first reason stands, asking again is a replay, and the view says so until it is resumed', async () => {
    const eventId = String((await send(intent())).body.event_id);
    const first = await post(`/notifications/${eventId}/pause`, { reason: 'wrong_person', actor: 'ada.moreno' });
    expect(first).toMatchObject({ status: 200 });
    expect(first.body).toEqual({ event_id: eventId, status: 'accepted', paused: true, reason: 'wrong_person', paused_at: expect.any(String), in_flight: false, replayed: false });
    expect((await post(`/notifications/${eventId}/pause`, { reason: 'another' })).body).toEqual({ ...first.body, replayed: true });
    expect((await get(`/notifications/${eventId}`)).body).toMatchObject({ paused: true, status: 'accepted', closed: null });
    const resumed = await post(`/notifications/${eventId}/resume`, { reason: 'checked' });
    expect(resumed.body).toEqual({ event_id: eventId, status: 'accepted', paused: false, replayed: false });
    expect((await post(`/notifications/${eventId}/resume`, { reason: 'checked' })).body).toEqual({ ...resumed.body, replayed: true });
    expect((await get(`/notifications/${eventId}`)).body.paused).toBe(false);
  });

  it('tells the history who paused it and why, and keeps a sentence out of it', async () => {
    const eventId = String((await send(intent())).body.event_id);
    await post(`/notifications/${eventId}/pause`, { reason: 'Ada says that it is not hers' });
    const { body, text } = await get(`/notifications/${eventId}/history`);
    expect((body.entries as { kind: string; details: unknown; actor: string }[]).at(-1)).toMatchObject({ kind: 'NotificationPaused', details: { reason: 'other', in_flight: false }, actor: expect.stringMatching(/^key:/) });
    expect(text).not.toContain('Ada says');
  });

  it.each(['pause', 'resume'])('refuses to %s without a reason, for an address as the actor, of another tenant, and what is closed', async (how) => {
    const eventId = String((await send(intent())).body.event_id);
    expect((await post(`/notifications/${eventId}/${how}`, {})).body).toMatchObject({ status: 400, field: 'reason' });
    expect((await post(`/notifications/${eventId}/${how}`, { reason: 'checked', actor: 'ada@example.com' })).body).toMatchObject({ status: 400, field: 'actor' });
    expect((await postJson(`${intake.url}/notifications/${eventId}/${how}`, { reason: 'checked' }, { Authorization: `Bearer ${strangersKey}` })).status).toBe(404);
    await post(`/notifications/${eventId}/close`, { reason: 'taken' });
    expect((await post(`/notifications/${eventId}/${how}`, { reason: 'checked' })).body).toMatchObject({ status: 409, code: 'not_open', public_status: 'closed' });
  });
});
