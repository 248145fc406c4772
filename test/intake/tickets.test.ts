import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { readNotification, readTicket } from '../../shared/ledger/reads.ts';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import { ask, aTicket, createRig, postForm, postJson } from './rig.ts';
import type { Answer, Rig } from './rig.ts';

interface Case {
  id: string; form: Record<string, unknown>; headers?: Record<string, string>;
  expect: { http: number; urgency?: string; channels?: string[]; field?: string; status?: string; reason?: string; replayed?: boolean; same_event_as?: string; note?: string };
}

const cases = readFileSync(new URL('../cases/tickets.jsonl', import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Case);
const formOf = (id: string): Record<string, unknown> => (cases.find((one) => one.id === id) as Case).form;

let rig: Rig;
let intake: RunningIntake;
const answers = new Map<string, Answer>();

beforeAll(async () => {
  rig = await createRig();
  intake = await rig.start();
});
afterAll(() => rig.close());

const eventOf = (id: string): string => answers.get(id)?.body.event_id as string;
const receiptOf = (id: string): string => answers.get(id)?.body.status_url as string;
const asBrowser = { headers: { Accept: 'text/html' } };

/** Every row of every table that is not sealed, as text. */
const everythingUnsealed = async (): Promise<string> => {
  const tables = ['notification', 'notification_state', 'attempt', 'ledger_entry', 'outbox', 'dead_letter', 'policy_version', 'policy_activation', 'api_key', 'engine_heartbeat'];
  const dumps = await Promise.all(tables.map(async (table) => {
    const { rows } = await rig.engine.db.pool.query<{ dump: string }>(`SELECT t::text AS dump FROM ${table} t`);
    return rows.map((row) => row.dump);
  }));
  return dumps.flat().join('\n');
};

const title = ({ id, form, expect: wanted }: Case): string => {
  const outcome = [wanted.urgency, wanted.channels?.join(' then '), wanted.status, wanted.field && `naming ${wanted.field}`, wanted.replayed && 'as a replay'].filter(Boolean).join(', ');
  return `${id}: ${String(form.category)} from ${String(form.region ?? 'no region')} answers ${wanted.http}${outcome ? ` (${outcome})` : ''}${wanted.note ? `: ${wanted.note}` : ''}`;
};

describe('the form', () => {
  test.each(cases.map((one) => [title(one), one] as const))('%s', async (_title, { id, form, headers, expect: wanted }) => {
    const answer = await postJson(`${intake.url}/tickets`, form, headers ?? {});
    answers.set(id, answer);
    expect(answer.status).toBe(wanted.http);
    if (wanted.http >= 400) {
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(answer.body).toMatchObject({ type: 'about:blank', status: wanted.http, code: expect.any(String), detail: expect.any(String) });
      if (wanted.field) expect(answer.body).toMatchObject({ field: wanted.field, errors: expect.arrayContaining([expect.objectContaining({ field: wanted.field, cure: expect.any(String) })]) });
      return;
    }
    const { body } = answer;
    expect(body).toMatchObject({ event_id: expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/), queue: expect.any(String), received_at: expect.any(String), status: wanted.status ?? 'accepted' });
    expect(body.replayed).toBe(wanted.replayed);
    expect(body.reason).toBe(wanted.reason);
    if (wanted.urgency) expect(body.urgency).toBe(wanted.urgency);
    if (wanted.same_event_as) expect(body).toEqual({ ...answers.get(wanted.same_event_as)?.body, replayed: true });
    const record = await readNotification(rig.engine.db, { eventId: body.event_id as string });
    if (wanted.channels) expect(record?.current.state.steps.map((step) => step.channel)).toEqual(wanted.channels);
    if (wanted.status === 'policy_rejected') expect(record?.current.state).toMatchObject({ attempts: [], rejected: wanted.reason });
  });
});

describe('what the form leaves behind', () => {
  const sealedMessage = async (id: string): Promise<string> => {
    const ticket = await readTicket(rig.engine.db, { eventId: eventOf(id) });
    return openPart<{ message: string }>(rig.engine.ring, eventOf(id), 'ticket', ticket?.sealed as { keyId: string; box: Uint8Array }).message;
  };

  it('keeps every accepted text byte for byte, in the sealed ticket', async () => {
    for (const { id, form } of cases.filter((one) => one.expect.http === 202)) expect(await sealedMessage(id)).toBe(form.message);
  });

  it('writes no player\'s text, reference or number and no address into any row that is not sealed, nor into the log', async () => {
    const texts = [await everythingUnsealed(), rig.logged()];
    const secrets = ['課金', '😭', 'code is 482913', '4111 1111', 'p-1006', 'p-1018', '2025550123', 'player@example.com', 'oncall-03@example.com', '2025550103', 'battle pass', 'DROP TABLE'];
    for (const text of texts) {
      expect(text.length).toBeGreaterThan(1_000);
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    }
  });

  it('renders neither text nor numbers of the player into the SMS: its variables do not hold them', async () => {
    const record = await readNotification(rig.engine.db, { eventId: eventOf('t06') });
    const { templates } = await rig.engine.versions.bind('game-support-urgent', record?.policyVersion as number);
    const sms = [...templates.values()].find((template) => template.channel === 'sms');
    expect(Object.keys(sms?.variables ?? {})).toEqual(expect.not.arrayContaining(['message', 'player_ref']));
  });

  it('shows markup in a text as text, on the receipt page', async () => {
    const { text } = await ask(receiptOf('t08'), asBrowser);
    expect(text).toContain('&lt;script&gt;fetch(');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).not.toMatch(/<script|<img/);
  });

  it('lists the known categories where one is unknown', () => {
    expect(answers.get('t13')?.body.known_categories).toEqual(expect.arrayContaining(['payment_lockout', 'bug_report', 'feedback']));
    expect(answers.get('t13')?.body.detail).toContain('payment_lockout');
  });

  it('names an unknown field', () => {
    expect(answers.get('t10')?.body).toMatchObject({ code: 'unknown_field', field: 'subject' });
  });

  it('records a ticket of a region that is not covered, and enqueues nothing for it', async () => {
    const { rows } = await rig.engine.db.pool.query('SELECT 1 FROM outbox WHERE event_id = $1', [eventOf('t11')]);
    expect(rows).toEqual([]);
    expect(await readTicket(rig.engine.db, { eventId: eventOf('t11') })).toMatchObject({ region: 'BR', queue: 'payments-urgent' });
    expect((await ask(receiptOf('t11'), asBrowser)).text).toContain('not available for your region');
  });

  it('normalises a contact once, seals it, and the dashboard shows it masked', async () => {
    const ticket = await readTicket(rig.engine.db, { eventId: eventOf('t30') });
    const sealed = openPart<{ contact: unknown }>(rig.engine.ring, eventOf('t30'), 'ticket', ticket?.sealed as { keyId: string; box: Uint8Array });
    expect(sealed.contact).toEqual({ sms: '+12025550123', email: 'player@example.com' });
    const dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'op', password: 'swordfish' } } });
    try {
      const page = (id: string) => ask(`${dashboard.url}/tickets/${eventOf(id)}`, { headers: { Authorization: `Basic ${btoa('op:swordfish')}` } });
      const contact = (await page('t30')).text;
      expect(contact).toContain('+1•••••0123, p•••@example.com');
      expect(contact).not.toMatch(/2025550123|player@example/);
      const markup = (await page('t08')).text;
      expect(markup).toContain('&lt;script&gt;');
      expect(markup).not.toMatch(/<script|<img/);
      expect((await page('t07')).text).toMatch(/<div class="words" dir="auto">حسابي مسروق، الرجاء المساعدة<\/div>/);
    } finally {
      await dashboard.close();
    }
  });

  it('never shows the player who is on call or how to reach them', async () => {
    const html = (await ask(receiptOf('t01'), asBrowser)).text;
    const json = (await ask(receiptOf('t01'))).text;
    expect(`${html}${json}`).not.toMatch(/oncall|20255501|Lindqvist/);
  });
});

describe('the form in a browser', () => {
  const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const tokenIn = (page: string): string => /name="form_token" value="([^"]+)"/.exec(page)?.[1] as string;

  it('works without JavaScript: the page, the form-encoded post, the redirect and the receipt', async () => {
    const form = await ask(`${intake.url}/`, { headers: html });
    expect(form.status).toBe(200);
    expect(form.text).not.toMatch(/<script|style=|onclick/);
    expect(form.headers.get('content-security-policy')).toMatch(/^default-src 'none';/);
    const sent = await postForm(`${intake.url}/tickets`, { ...(aTicket() as Record<string, string>), form_token: tokenIn(form.text), 'contact.sms': '', 'contact.email': '', on_call: '' }, html);
    expect(sent.status).toBe(303);
    const receipt = await ask(new URL(sent.headers.get('location') as string, intake.url).href, { headers: html });
    expect(receipt.status).toBe(200);
    expect(receipt.headers.get('referrer-policy')).toBe('no-referrer');
    expect(receipt.headers.get('x-robots-tag')).toContain('noindex');
    expect(receipt.text).toContain('<meta http-equiv="refresh"');
    expect(receipt.text).toContain('I am locked out');
  });

  it('takes a double click as one ticket', async () => {
    const form = { ...(aTicket() as Record<string, string>), form_token: tokenIn((await ask(`${intake.url}/`)).text) };
    const [one, two] = await Promise.all([postForm(`${intake.url}/tickets`, form, html), postForm(`${intake.url}/tickets`, form, html)]);
    expect([one?.status, two?.status]).toEqual([303, 303]);
    expect(one?.headers.get('location')).toBe(two?.headers.get('location'));
  });

  it('comes back with what was typed, marks the field at fault and says what to do', async () => {
    const answer = await postForm(`${intake.url}/tickets`, { ...(aTicket({ message: 'My "quoted" <text>', locale: 'en_US' }) as Record<string, string>), 'contact[sms]': 'not a number', form_token: 'form_kept' }, html);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('My &quot;quoted&quot; &lt;text&gt;</textarea>');
    expect(answer.text).toMatch(/name="contact.sms"[^>]*aria-invalid="true"[^>]*value="not a number"/);
    expect(answer.text).toMatch(/name="locale"[^>]*aria-invalid="true"/);
    expect(answer.text).toMatch(/<div class="banner" role="alert" tabindex="-1" autofocus>/);
    expect(answer.text).toContain('write the number with + and country code');
    expect(tokenIn(answer.text)).toBe('form_kept');
  });

  it('draws a new token after a conflict, so that the other text can be sent as a ticket of its own', async () => {
    const form = { ...(aTicket() as Record<string, string>), form_token: 'form_once' };
    await postForm(`${intake.url}/tickets`, form, html);
    const conflict = await postForm(`${intake.url}/tickets`, { ...form, message: 'another text' }, html);
    expect(conflict.status).toBe(409);
    expect(conflict.text).toContain('another text</textarea>');
    expect(tokenIn(conflict.text)).not.toBe('form_once');
  });

  it('lets the demo choose the on-call, by id or by its number, and nobody else', async () => {
    for (const onCall of ['oncall-05', '05']) expect((await postJson(`${intake.url}/tickets`, aTicket({ on_call: onCall }))).status).toBe(202);
    expect((await postJson(`${intake.url}/tickets`, aTicket({ on_call: '99' }))).body).toMatchObject({ status: 400, field: 'on_call' });
    expect((await ask(`${intake.url}/`)).text).toContain('the email starts at the deadline');
    const live = await rig.start({ demo: false });
    expect((await postJson(`${live.url}/tickets`, aTicket({ on_call: '05' }))).body).toMatchObject({ status: 400, code: 'unknown_field', field: 'on_call' });
    expect((await ask(`${live.url}/`)).text).not.toContain('on_call');
  });

  it('has the same ticket under the same key from two players as two tickets', async () => {
    const ticket = formOf('t01');
    const [one, other] = await Promise.all(['p-a', 'p-b'].map((player) => postJson(`${intake.url}/tickets`, { ...ticket, player_ref: player }, { 'Idempotency-Key': 'same' })));
    expect([one?.status, other?.status]).toEqual([202, 202]);
    expect(one?.body.event_id).not.toBe(other?.body.event_id);
  });
});
