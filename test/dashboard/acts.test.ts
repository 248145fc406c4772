import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { boardRule } from '../../services/dashboard/board.ts';
import { reasonCookie } from '../../services/dashboard/operator-session.ts';
import { handleDeadLetterRequests, requestDeadLetters } from '../../shared/delivery/dead-letter-requests.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import { permittedActions } from '../../shared/domain/permitted.ts';
import type { Command } from '../../shared/domain/decide.ts';
import { listAudit } from '../../shared/ledger/audit-entries.ts';
import { listDeadLetters } from '../../shared/ledger/dead-letters.ts';
import { openPair } from '../alerts/support.ts';
import type { Pair } from '../alerts/support.ts';
import { ask } from '../intake/rig.ts';
import type { Answer } from '../intake/rig.ts';
import { keepSessions, makeOperator } from '../support/sign-in.ts';
import { silentLog } from '../support/test-engine.ts';

let pair: Pair;
let dashboard: RunningDashboard;
beforeAll(async () => {
  pair = await openPair();
  const [engine] = pair.engines;
  for (const [name, role] of [['ada', 'operator'], ['bob', 'operator'], ['vic', 'viewer']] as const) await makeOperator(engine, name, role);
  dashboard = await startDashboard({ engine, log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
}, 60_000);
afterAll(async () => {
  await dashboard?.close();
  await pair?.close();
});

const session = keepSessions(() => dashboard.url);
const see = async (eventId: string, user = 'ada', query = ''): Promise<string> => (await ask(`${dashboard.url}/notifications/${eventId}${query}`, { headers: (await session(user)).headers })).text;
const seenOn = (text: string): string => /name="seen" value="(\d+)"/.exec(text)?.[1] ?? '';
/** A form as the page has it, sent by that operator; `on` is the page that he saw. */
const send = async (eventId: string, act: string, { user = 'ada', on, reason = 'checked', attempt }: { user?: string; on?: string; reason?: string; attempt?: string } = {}): Promise<Answer> => {
  const { cookie, token } = await session(user);
  const fields = { token, reason, ...(on === undefined ? {} : { seen: seenOn(on) }), ...(attempt === undefined ? {} : { attempt }) };
  return ask(`${dashboard.url}/notifications/${eventId}/${act}`, { method: 'POST', redirect: 'manual', headers: { Cookie: cookie, 'Content-Type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams(fields).toString() });
};
const decide = (eventId: string, command: Command) => decideAndAppend(pair.engines[0], eventId, { provenance: { actor: 'test', requestId: `test-${Math.random()}` }, command: () => command });
const die = (eventId: string, channel: string) => decide(eventId, { kind: 'refuse_to_submit', attempt: `${eventId}.${channel}.1` as never, reason: 'render_drift' });
const kinds = async (eventId: string): Promise<unknown[]> => (await pair.ask('SELECT kind FROM ledger_entry WHERE event_id = $1 ORDER BY version', [eventId])).map(({ kind }) => kind);
const count = async (eventId: string, kind: string): Promise<number> => (await kinds(eventId)).filter((one) => one === kind).length;
const alert = (text: string): string => /role="alert">([^<]*)</.exec(text)?.[1] ?? '';
const trail = async (eventId: string): Promise<string[]> => (await listAudit(pair.engines[0].db, {}, 1_000)).filter(({ target }) => target.startsWith(eventId)).map(({ action, result, actor }) => `${actor} ${action} ${result}`).reverse();

/** Notifications in one state each. */
const STATES: Record<string, () => Promise<string>> = {
  'under way': () => pair.accept(),
  paused: async () => { const eventId = await pair.accept(); await decide(eventId, { kind: 'pause', reason: 'incident' }); return eventId; },
  closed: async () => { const eventId = await pair.accept(); await decide(eventId, { kind: 'close', reason: 'taken' }); return eventId; },
  'with both channels dead': async () => { const eventId = await pair.accept(); await die(eventId, 'sms'); await die(eventId, 'email'); return eventId; },
  expired: async () => { const eventId = await pair.accept(); await pair.pass(16 * 60_000); return eventId; },
};

describe('the page of a notification', () => {
  it.each(Object.keys(STATES))('has a form for what is permitted and for nothing else, and says why the rest is not: %s', async (name) => {
    const eventId = await (STATES[name] as () => Promise<string>)();
    const text = await see(eventId);
    const state = (await pair.engines[0].load(eventId))?.state;
    if (!state) throw new Error('no state');
    const all = permittedActions(state, pair.now()).map(({ action, attempt, refusal }) => ({ line: [action, ...(attempt === null ? [] : [attempt])].join(' '), may: refusal === null }));
    const forms = [...text.matchAll(/<form method="post" action="\/notifications\/\w+\/(\w+)"[^>]*>.*?(?:name="attempt" value="([^"]+)")?>\n<label/gs)].map(([, action, attempt]) => [action, ...(attempt === undefined ? [] : [attempt])].join(' '));
    expect(forms).toEqual(all.filter(({ may }) => may).map(({ line }) => line));
    expect([...text.matchAll(/: not now; /g)]).toHaveLength(all.filter(({ may }) => !may).length);
    for (const user of ['vic', null]) {
      const shown = user === null ? (await ask(`${dashboard.url}/notifications/${eventId}`, { headers: { Authorization: `Basic ${Buffer.from('ada:correct:horse').toString('base64')}` } })).text : await see(eventId, user);
      expect([user, /<form|name="token"/.test(shown)]).toEqual([user, false]);
      if (forms.length > 0) expect(shown).toContain(user === null ? 'HTTP Basic may only read' : 'Your role may look only');
    }
  });

  it('stays as it is where a reason is missing or too long: the form comes back open, with what was written', async () => {
    const eventId = await pair.accept();
    const before = await kinds(eventId);
    for (const reason of ['', '   ', 'long '.repeat(101)]) {
      const { status, text } = await send(eventId, 'pause', { reason });
      expect([status, alert(text)]).toEqual([422, expect.stringMatching(/^(A reason is missing\.|The reason has more than 500 characters\. Give a code or a sentence\.)$/)]);
      expect(/<details class="act" id="act-pause" open>/.test(text)).toBe(true);
      expect(text.includes(`value="${reason}" aria-invalid="true"`)).toBe(true);
      expect(text).not.toContain('http-equiv="refresh"');
    }
    expect(await kinds(eventId)).toEqual(before);
  });

  it('takes a form once, however often and at once it is sent', async () => {
    const eventId = await pair.accept();
    const on = await see(eventId);
    const answers = await Promise.all([1, 2, 3].map(() => send(eventId, 'pause', { on, reason: 'wait for the shop' })));
    answers.push(await send(eventId, 'pause', { on, reason: 'wait for the shop' }));
    expect(answers.map(({ status, headers }) => [status, headers.get('location')])).toEqual(answers.map(() => [303, `/notifications/${eventId}?told=pause`]));
    expect(await count(eventId, 'NotificationPaused')).toBe(1);
    expect(await see(eventId, 'ada', '?told=pause')).toMatch(/role="status">You paused it at /);
  });

  it('tells one who acts on an old page what happened meanwhile, and does nothing', async () => {
    const eventId = await pair.accept();
    await send(eventId, 'pause', { user: 'bob', reason: 'incident' });
    const old = await see(eventId);
    await send(eventId, 'resume', { user: 'bob' });
    await send(eventId, 'pause', { user: 'bob', reason: 'wrong_person' });
    const { status, text } = await send(eventId, 'resume', { on: old });
    expect([status, alert(text)]).toEqual([409, expect.stringMatching(/^Nothing was done: bob paused it at \d\d:\d\d:\d\d UTC, after your page was made/)]);
    expect(text).toMatch(/Paused by <strong>bob<\/strong> since .* because <code>wrong_person<\/code>/);
    expect([await count(eventId, 'NotificationResumed'), (await pair.engines[0].load(eventId))?.state.paused?.reason]).toEqual([1, 'wrong_person']);
    // What only the clock did since is no reason to refuse.
    const fresh = await see(eventId);
    await pair.pass(60_000);
    expect((await send(eventId, 'resume', { on: fresh })).status).toBe(303);
  });

  it('says who did it first, and that nothing was changed, where two decide the same', async () => {
    const eventId = await pair.accept();
    await send(eventId, 'close', { user: 'bob', reason: 'taken' });
    expect((await send(eventId, 'close')).headers.get('location')).toBe(`/notifications/${eventId}?told=close`);
    expect(await see(eventId, 'ada', '?told=close')).toMatch(/role="status">bob had closed it already, at .*: nothing was changed, and your reason was not recorded\./);
    expect(await count(eventId, 'NotificationClosed')).toBe(1);
  });

  it('tells one who did the same before for another reason that the first one stands', async () => {
    const eventId = await pair.accept();
    const on = await see(eventId);
    expect((await send(eventId, 'pause', { on, reason: 'incident' })).status).toBe(303);
    for (const form of [{ reason: 'the shop is shut' }, { on, reason: 'maintenance' }]) {
      const { status, text } = await send(eventId, 'pause', form);
      expect([status, alert(text)]).toEqual([409, expect.stringMatching(/^Nothing was done: you paused it already, at \d\d:\d\d:\d\d UTC, because “incident”\. That reason stands, and the new one was not recorded\.$/)]);
    }
    expect((await send(eventId, 'pause', { on, reason: 'incident' })).status).toBe(303);
    expect(await count(eventId, 'NotificationPaused')).toBe(1);
    expect((await pair.engines[0].load(eventId))?.state.paused?.reason).toBe('incident');
  });

  it('answers plainly what is not possible any more, and what never was', async () => {
    const eventId = await pair.accept();
    const on = await see(eventId);
    await pair.pass(16 * 60_000);
    for (const [act, words] of [['pause', 'Nothing was done: it is settled: nothing is left to hold.'], ['resume', 'Nothing was done: it is not paused.'], ['retry', 'Nothing was done: there is no such attempt.']] as const) {
      const { status, text } = await send(eventId, act, { on });
      expect([act, status, alert(text)]).toEqual([act, 409, words]);
    }
    const other = await pair.accept();
    expect(alert((await send(eventId, 'retry', { attempt: `${other}.sms.1` })).text)).toBe('Nothing was done: there is no such attempt.');
    expect((await send('evt_00000000000000000000000000', 'pause')).status).toBe(404);
  });

  it('retries a dead letter as a new attempt, once, under a name and with a reason', async () => {
    const eventId = await (STATES['with both channels dead'] as () => Promise<string>)();
    const attempt = `${eventId}.email.1`;
    const on = await see(eventId);
    const answers = await Promise.all([1, 2].map(() => send(eventId, 'retry', { on, attempt, reason: 'the template is mended' })));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect([await count(eventId, 'OperatorRetried'), (await pair.engines[0].load(eventId))?.state.attempts.at(-1)?.key]).toEqual([1, `${eventId}.email.2`]);
    expect(await pair.ask('SELECT resolution FROM dead_letter WHERE attempt_key = $1', [attempt])).toEqual([{ resolution: 'retried' }]);
    expect(await see(eventId, 'ada', '?told=retry')).toMatch(/You retried email 1 at .*<strong>ada<\/strong> retried email 1 because <span class="said" dir="auto">“the template is mended”/s);
    expect(/<li><strong>Retry email 1<\/strong>: not now; a later attempt on its channel exists\.<\/li>/.test(await see(eventId))).toBe(true);
    const { status, text } = await send(eventId, 'retry', { user: 'bob', attempt });
    expect([status, alert(text)]).toEqual([409, 'Nothing was done: a later attempt on its channel exists.']);
    expect(await trail(eventId)).toEqual(expect.arrayContaining(['ada notification.retry asked', 'ada notification.retry retried', 'bob notification.retry not_newest']));
  });

  it('says of a dead letter what is left to do about it only while it waits, and who discarded it', async () => {
    const eventId = await (STATES['with both channels dead'] as () => Promise<string>)();
    const standing = async (): Promise<string> => /class="standing-now">.*?<\/div>/s.exec(await see(eventId))?.[0] ?? '';
    expect(await standing()).toMatch(/The dead letter of sms 1 waits for an operator: retry it here, or .*The dead letter of email 1 waits for an operator: retry it here/s);
    await send(eventId, 'pause');
    const [engine] = pair.engines;
    const [sms] = await listDeadLetters(engine.db, { channel: 'sms' }, { limit: 1 });
    if (sms?.eventId !== eventId) throw new Error('another one is newer');
    await requestDeadLetters(engine, [sms], { action: 'discard', actor: 'bob', reason: 'he was told at +12025550147' });
    await handleDeadLetterRequests(engine);
    const text = await standing();
    expect(text).toMatch(/The dead letter of sms 1 was discarded by <strong>bob<\/strong> at .* because <span class="said" dir="auto">“he was told at [^”]*”<\/span>\./);
    expect(text).not.toMatch(/sms 1 waits|12025550147/);
    expect(await see(eventId)).toMatch(/SMS stopped at [^;]*(; Tocsin found so itself)?[^;]*; it was a dead letter until [^;]*, when an operator discarded it\./);
    await decide(eventId, { kind: 'close', reason: 'taken' });
    expect(await standing()).not.toContain('waits for an operator');
    const late = await (STATES['with both channels dead'] as () => Promise<string>)();
    await pair.pass(16 * 60_000);
    expect(await see(late)).toMatch(/The dead letter of sms 1 waits for an operator: <a href="\/queues">discard it<\/a>\. It cannot be retried now: it has expired\./);
  });

  it('offers no retry of a dead letter that somebody discarded, and refuses one that is asked for all the same', async () => {
    const [engine] = pair.engines;
    const eventId = await (STATES['with both channels dead'] as () => Promise<string>)();
    const attempt = `${eventId}.sms.1`;
    const offered = (text: string): string[] => [...text.matchAll(/id="act-retry-(\w+)-1-reason"/g)].map(([, channel]) => channel as string);
    const before = await see(eventId);
    expect(offered(before)).toEqual(['sms', 'email']);
    const [sms] = await listDeadLetters(engine.db, { channel: 'sms' }, { limit: 1 });
    if (sms?.eventId !== eventId) throw new Error('another one is newer');
    await requestDeadLetters(engine, [sms], { action: 'discard', actor: 'bob', reason: 'over' });
    await handleDeadLetterRequests(engine);
    const after = await see(eventId);
    expect(offered(after)).toEqual(['email']);
    expect(after).toMatch(/<li><strong>Retry sms 1<\/strong>: not now; an operator discarded its dead letter\.<\/li>/);
    // A page that stands open takes the change in, though its ledger has none.
    const hold = (text: string): string | undefined => /data-live="actions" data-hold="([^"]*)"/.exec(text)?.[1];
    expect(hold(after)).not.toBe(hold(before));
    for (const on of [before, after]) {
      const { status, text } = await send(eventId, 'retry', { on, attempt });
      expect([status, alert(text)]).toEqual([409, 'Nothing was done: an operator discarded its dead letter.']);
    }
    expect([await count(eventId, 'OperatorRetried'), await trail(attempt)]).toEqual([0, ['ada notification.retry discarded', 'ada notification.retry discarded']]);
    expect((await send(eventId, 'retry', { attempt: `${eventId}.email.1` })).status).toBe(303);
    expect(await count(eventId, 'OperatorRetried')).toBe(1);
  });

  it('refuses on the board as well to retry what was discarded, for as long as it still stands there', async () => {
    const [engine] = pair.engines;
    const eventId = await (STATES['with both channels dead'] as () => Promise<string>)();
    const [sms] = await listDeadLetters(engine.db, { channel: 'sms' }, { limit: 1 });
    if (sms?.eventId !== eventId) throw new Error('another one is newer');
    const cookie = reasonCookie(engine.ring, { reason: 'checked', user: 'ada', at: pair.now() }).split(';')[0] as string;
    const onBoard = (what: 'retry' | 'clean') => boardRule({ engine, queue: null as never, who: () => ({ user: 'ada', role: 'operator' }) })({
      method: 'put', route: `/api/queues/:queueName/:jobId/${what}`, request: { params: { queueName: 'sms-dead-letter', jobId: `dead-letter-${sms.id}-s0` }, headers: { cookie } },
    });
    expect(await onBoard('clean')).toBeUndefined();
    await handleDeadLetterRequests(engine);
    expect(await onBoard('retry')).toMatchObject({ allow: false, status: 409, message: expect.stringMatching(/^Nothing is left to retry: this dead letter has ended \(discarded\)/) });
    expect(await onBoard('clean')).toBeUndefined();
    expect(await pair.ask('SELECT action, result FROM dead_letter_request WHERE dead_letter_id = $1', [sms.id])).toEqual([{ action: 'discard', result: 'discarded' }]);
  });

  it('shows a reason that was written, to those who are signed in and nowhere else, without numbers, and no more once it was erased', async () => {
    const eventId = await pair.accept();
    await send(eventId, 'pause', { reason: 'call +12025550147 <b>now</b>' });
    await send(eventId, 'resume', { reason: 'nobody answered there' });
    await send(eventId, 'close', { reason: 'he came by' });
    const text = await see(eventId, 'vic');
    for (const words of ['“call +1•••••0147 &lt;b&gt;now&lt;/b&gt;”', '“nobody answered there”', '“he came by”']) expect(text).toContain(words);
    const dumped = JSON.stringify(await pair.ask('SELECT (SELECT string_agg(l::text, \' \') FROM ledger_entry l) AS ledger, (SELECT string_agg(a::text, \' \') FROM audit_entry a) AS audit'));
    expect(dumped).not.toMatch(/call |nobody answered|came by/);
    const view = await ask(`${dashboard.url}/notifications/${eventId}/view`, { headers: (await session('vic')).headers });
    expect(view.text).not.toMatch(/call |nobody answered|came by/);
    await pair.ask('UPDATE observation_raw SET key_id = NULL, box = NULL, destroyed_at = now() WHERE event_id = $1', [eventId]);
    await decide(eventId, { kind: 'erase', of: 'recipient', reason: 'requested' } as never);
    expect(await see(eventId)).toMatch(/paused it because words that were erased/);
  });
});
