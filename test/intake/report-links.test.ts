import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { openReport, REPORT_BOUNDS, reportToken, sendReportCode } from '../../shared/delivery/report-links.ts';
import type { ArtifactRecord } from '../../shared/ledger/artifacts.ts';
import { hashToken } from '../../shared/security/tokens.ts';
import { run } from '../cli/support.ts';
import { acceptReport, BOTH, storeReport } from '../support/reports.ts';
import type { Answer, Rig } from './rig.ts';
import { ask, createRig, postForm, postJson } from './rig.ts';

let rig: Rig;
let intake: RunningIntake;
let artifact: ArtifactRecord;
const bytes = randomBytes(200_000);
const NO_LIMITS = { address: 1_000_000, link: 1_000_000 };

beforeAll(async () => {
  // Whoever waits long for a connection here waits for a busy machine.
  rig = await createRig(undefined, 30_000);
  intake = await rig.start({ reportsPerMinute: NO_LIMITS, trustProxy: 1 });
  artifact = await storeReport(rig.engine, bytes);
});
afterAll(() => rig.close());

const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => (await rig.engine.db.pool.query(text, values)).rows as Record<string, unknown>[];
const linkOf = async (token: string) => (await query('SELECT * FROM report_link WHERE token_hash = $1', [hashToken(token)]))[0] as Record<string, unknown>;
let line = 0;
/** A link that came by SMS, and with it its notification. */
const aLink = async (channel: 'sms' | 'email' = 'sms'): Promise<{ token: string; eventId: string }> => {
  line += 1;
  const eventId = await acceptReport(rig.engine, artifact, { sms: '+12025550101', email: `a${line}@example.com` });
  return { eventId, token: reportToken(rig.engine.ring, eventId, channel) };
};
/** The code that a notification carries, opened as only the product can. */
const codeIn = async (eventId: string): Promise<string> => {
  const loaded = await rig.engine.load(eventId);
  if (!loaded?.secrets) throw new Error('no secrets');
  return openPart<{ values: { code: string } }>(rig.engine.ring, eventId, 'secrets', loaded.secrets).values.code;
};
const sendCode = async (token: string): Promise<string> => codeIn(await sendReportCode(rig.engine, token, 'r') as string);
const openUrl = (token: string): string => `${intake.url}/reports/${token}/open`;
const open = (token: string, code: string): Promise<Answer> => postJson(openUrl(token), { code });
const wrongOf = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0');
const withoutId = ({ status, body }: Answer) => ({ status, body: { ...body, request_id: null } });

describe('a link to a report', () => {
  it('shows a page that is the same for every link and uses nothing up', async () => {
    const { token } = await aLink();
    const pages = await Promise.all([token, 'x'.repeat(43), '1'].map(async (one) => (await ask(`${intake.url}/reports/${one}`)).text.replaceAll(`/${one}/`, '/TOKEN/')));
    expect(new Set(pages).size).toBe(1);
    expect(pages[0]).toContain('action="/reports/TOKEN/open"');
    const { headers } = await ask(`${intake.url}/reports/${token}`);
    expect([headers.get('referrer-policy'), headers.get('cache-control'), headers.get('x-robots-tag')]).toEqual(['no-referrer', 'no-store', 'noindex, nofollow']);
    expect(await linkOf(token)).toMatchObject({ tries: 0, codes: 0, code_hash: null });
  });

  it('is opened by the code that came by the other channel, once, as a download with its checksum', async () => {
    const { token, eventId } = await aLink('sms');
    const other = await rig.start();
    const asked = await postJson(`${other.url}/reports/${token}/code`, {});
    expect([asked.status, asked.body['status']]).toEqual([202, 'asked']);
    // The code is made behind the answer; an intake that stops finishes that first.
    await other.close();
    const sent = String((await linkOf(token))['code_event']);
    const code = await codeIn(sent);
    const state = (await rig.engine.load(sent))?.state;
    expect(state?.steps.map(({ channel, phase, reason }) => [channel, phase, reason])).toEqual([['sms', 'skipped', 'no_address'], ['email', 'started', null]]);
    const response = await fetch(openUrl(token), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code: `${code.slice(0, 3)} ${code.slice(3)}` }) });
    expect([response.status, response.headers.get('content-disposition'), response.headers.get('content-type'), response.headers.get('content-digest')])
      .toEqual([200, 'attachment; filename="report.pdf"', 'application/pdf', `sha-256=:${Buffer.from(artifact.sha256, 'hex').toString('base64')}:`]);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await open(token, code)).status).toBe(403);
    expect((await query('SELECT action, result FROM report_access WHERE link_id = $1 ORDER BY id', [(await linkOf(token))['link_id']])).map(({ action, result }) => `${action as string} ${result as string}`))
      .toEqual(['code asked', 'open opened', 'open refused']);
    expect(eventId).not.toBe(sent);
  });

  it('tells an operator who came to it: when, by which link, what and with what outcome; no token and no address', async () => {
    const { token, eventId } = await aLink('email');
    const told = async (of: string, ...more: string[]) => run(['report-access', of, ...more], { env: { DATABASE_URL: rig.database.url, TOCSIN_DATA_DIR: '/nonexistent' } });
    expect(await told(eventId)).toEqual({ code: 0, out: 'Nobody has come to this report by a link.\n', err: '' });
    await ask(`${intake.url}/reports/${token}`);
    const code = await sendCode(token);
    for (const one of [wrongOf(code), code]) await open(token, one);
    await ask(`${intake.url}/reports/${reportToken(rig.engine.ring, eventId, 'sms')}`);
    const json = await told(eventId, '--json');
    const { accesses, more } = JSON.parse(json.out) as { accesses: Record<string, string>[]; more: boolean };
    expect([more, accesses.map(({ link, action, result }) => `${link} ${action} ${result}`)]).toEqual([false, ['email page asked', 'email open refused', 'email open opened', 'sms page asked']]);
    expect(accesses.every(({ at, artifact: of }) => Math.abs(Date.now() - Date.parse(at as string)) < 60_000 && of === artifact.artifactId)).toBe(true);
    const people = await told(eventId);
    expect(people.out).toMatch(/^at +link by +what +outcome\n/);
    expect(people.out).toContain('a code was tried');
    for (const secret of [token, code, '2025550101', '@example.com']) expect(json.out + people.out).not.toContain(secret);
    const other = await told('evt_01ARZ3NDEKTSV4RRFFQ69G5FAV');
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('carried no link to a report')]);
  });

  it('works in a browser without script: the code is typed into the page, and a wrong one shows the page again', async () => {
    const { token } = await aLink('email');
    const code = await sendCode(token);
    const html = { Accept: 'text/html' };
    const wrong = await postForm(openUrl(token), { code: wrongOf(code) }, html);
    expect([wrong.status, wrong.text.includes('That did not open it')]).toEqual([403, true]);
    const right = await fetch(openUrl(token), { method: 'POST', headers: { ...html, 'Content-Type': 'application/x-www-form-urlencoded' }, body: `code=${code}` });
    expect([right.status, Buffer.from(await right.arrayBuffer()).equals(bytes)]).toEqual([200, true]);
    expect((await postForm(`${intake.url}/reports/${token}/code`, {}, html)).text).toContain('If this link is good, a code is on its way');
  });

  it('gives its code one use among many at the same time', async () => {
    const { token } = await aLink();
    const code = await sendCode(token);
    const visit = { tokenHash: hashToken(token), at: rig.engine.now(), requestId: 'r', client: Buffer.alloc(32) };
    const opened = await Promise.all(Array.from({ length: 20 }, () => openReport(rig.engine, visit, { token, code })));
    expect(opened.filter((one) => one !== null)).toHaveLength(1);
  });

  it('takes five wrong tries of a code, and the right one not after that; another code opens it', async () => {
    const { token } = await aLink();
    const code = await sendCode(token);
    for (let tries = 0; tries < REPORT_BOUNDS.triesPerCode; tries += 1) expect((await open(token, wrongOf(code))).status).toBe(403);
    expect((await open(token, code)).status).toBe(403);
    // The last one may still be on its way: none is made at once.
    expect(await sendReportCode(rig.engine, token, 'r')).toBeNull();
    await query("UPDATE report_link SET code_until = code_until - interval '31 s' WHERE token_hash = $1", [hashToken(token)]);
    expect((await open(token, await sendCode(token))).status).toBe(200);
  });

  it('is used up for good after fifty wrong tries or twenty codes, and expires with its report', async () => {
    for (const over of [`tries = ${REPORT_BOUNDS.triesEver}`, `codes = ${REPORT_BOUNDS.codesEver}`]) {
      const { token } = await aLink();
      await query(`UPDATE report_link SET ${over} WHERE token_hash = $1`, [hashToken(token)]);
      expect(await sendReportCode(rig.engine, token, 'r')).toBeNull();
    }
    const { token } = await aLink();
    const code = await sendCode(token);
    await query('UPDATE report_link SET tries = $2 WHERE token_hash = $1', [hashToken(token), REPORT_BOUNDS.triesEver]);
    expect((await open(token, code)).status).toBe(403);
    const visit = { tokenHash: hashToken((await aLink()).token), at: artifact.expiresAt, requestId: 'r', client: Buffer.alloc(32) };
    expect(await openReport(rig.engine, visit, { token, code })).toBeNull();
  });

  it('gets no code where the other channel has no address, as with a report that is attached, or its notification was closed', async () => {
    const eventId = await acceptReport(rig.engine, artifact, { sms: null, email: 'a@example.com', consent: BOTH });
    expect(await sendReportCode(rig.engine, reportToken(rig.engine.ring, eventId, 'email'), 'r')).toBeNull();
    const closed = await aLink();
    await closeNotification(rig.engine, { tenant: null, eventId: closed.eventId, reason: 'cancelled', actor: 'ana', requestId: 'c' });
    expect(await sendReportCode(rig.engine, closed.token, 'r')).toBeNull();
  });

  it('leaves neither token nor code in the database or a log', async () => {
    const { token, eventId } = await aLink();
    const code = await sendCode(token);
    await open(token, code);
    const rows = JSON.stringify([await query('SELECT * FROM report_link'), await query('SELECT * FROM report_access'), await query('SELECT body FROM ledger_entry'), await query('SELECT state FROM notification_state')]);
    expect(rows).not.toContain(token);
    expect(rig.logged()).not.toContain(token);
    expect(rig.logged()).not.toMatch(new RegExp(`(?<!\\d)${code}(?!\\d)`));
    expect(JSON.stringify(await query('SELECT body FROM ledger_entry WHERE event_id = $1', [eventId]))).not.toMatch(new RegExp(`(?<!\\d)${code}(?!\\d)`));
  });

  test('limits how often an address and a link may ask, whether or not there is such a link', async () => {
    const limited = await rig.start({ trustProxy: 1, reportsPerMinute: { address: 10, link: 4 } });
    const from = (address: string, token: string) => ask(`${limited.url}/reports/${token}`, { headers: { 'X-Forwarded-For': address } });
    const { token } = await aLink();
    for (const one of [token, 'y'.repeat(43)]) {
      const answers = [];
      for (let tries = 0; tries < 6; tries += 1) answers.push((await from(`192.0.2.${tries}`, one)).status);
      expect(answers).toEqual([200, 200, 200, 200, 429, 429]);
    }
    const answers = [];
    for (let tries = 0; tries < 12; tries += 1) answers.push((await from('198.51.100.7', `z${tries}`)).status);
    expect(answers.filter((status) => status === 429)).toHaveLength(2);
  });
});

describe('visits that are refused unlooked at', () => {
  /** Runs against an intake with these limits, and stops it, so that what goes on behind its answers has ended. */
  const behind = async (perMinute: { address: number; link: number }, visit: (url: string) => Promise<void>): Promise<void> => {
    const limited = await rig.start({ trustProxy: 1, reportsPerMinute: perMinute });
    await visit(limited.url);
    await limited.close();
  };
  const accessesOf = async (token: string) =>
    (await query('SELECT action, result, encode(client, \'hex\') AS client FROM report_access WHERE link_id = $1 ORDER BY id', [(await linkOf(token))['link_id']])) as { action: string; result: string; client: string }[];
  const resultsOf = async (token: string): Promise<string[]> => (await accessesOf(token)).map(({ action, result }) => `${action} ${result}`);

  it('are recorded too: the page, a code asked for, a code tried, and what could not be read', async () => {
    const links = await Promise.all([aLink(), aLink(), aLink(), aLink()]);
    const [page, code, opened, garbled] = links.map(({ token }) => token) as [string, string, string, string];
    await behind({ address: 1_000, link: 1 }, async (url) => {
      const statuses = [];
      for (const again of [1, 2]) {
        void again;
        statuses.push((await ask(`${url}/reports/${page}`)).status, (await postJson(`${url}/reports/${code}/code`, {})).status, (await postJson(`${url}/reports/${opened}/open`, { code: '1' })).status);
      }
      statuses.push((await postJson(`${url}/reports/${garbled}/open`, '{')).status);
      expect(statuses).toEqual([200, 202, 403, 429, 429, 429, 400]);
    });
    expect(await resultsOf(page)).toEqual(['page asked', 'page limited']);
    expect(await resultsOf(code)).toEqual(['code asked', 'code limited']);
    expect(await resultsOf(opened)).toEqual(['open refused', 'open limited']);
    expect(await resultsOf(garbled)).toEqual(['open malformed']);
    const told = await run(['report-access', (links[2] as { eventId: string }).eventId], { env: { DATABASE_URL: rig.database.url, TOCSIN_DATA_DIR: '/nonexistent' } });
    expect(told.out).toMatch(/a code was tried +limited/);
  });

  it('leave one row a minute for a network, no more for a link than it may be visited, and none for a link that is not', async () => {
    const { token } = await aLink();
    const count = async (): Promise<number> => Number((await query('SELECT count(*) AS count FROM report_access'))[0]?.['count']);
    const before = await count();
    await behind({ address: 1_000, link: 3 }, async (url) => {
      const from = (address: string, one: string) => ask(`${url}/reports/${one}`, { headers: { 'X-Forwarded-For': address } });
      for (let visit = 0; visit < 9; visit += 1) await from('192.0.2.1', token);
      for (let address = 2; address < 9; address += 1) await from(`192.0.2.${address}`, token);
      expect((await from('192.0.2.9', token)).status).toBe(429);
      for (let visit = 0; visit < 9; visit += 1) expect((await from('192.0.2.1', 'n'.repeat(43))).status).toBe(visit < 3 ? 200 : 429);
    });
    const accesses = await accessesOf(token);
    expect(accesses.map(({ result }) => result)).toEqual(['asked', 'asked', 'asked', 'limited', 'limited', 'limited']);
    expect(new Set(accesses.slice(3).map(({ client }) => client)).size).toBe(3);
    // Of the link that is not, those alone that were looked at.
    expect(await count() - before).toBe(accesses.length + 3);
  });
});

/** Posts with kept-alive connections, as fast as it is answered; resolves to the statuses, times and bodies. */
const attack = async (requests: { token: string; code: string; address: string }[], { url, width }: { url: string; width: number }) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: width });
  const one = ({ token, code, address }: { token: string; code: string; address: string }) => new Promise<{ status: number; ms: number; body: string }>((resolve, reject) => {
    const body = JSON.stringify({ code });
    const startedAt = performance.now();
    const request = http.request(`${url}/reports/${token}/open`, { method: 'POST', agent, headers: { 'Content-Type': 'application/json', 'Content-Length': body.length, 'X-Forwarded-For': address } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => { text += piece; }).on('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - startedAt, body: text.replace(/"request_id":"[^"]+"/, '') }));
    });
    request.on('error', reject).end(body);
  });
  const answers: Awaited<ReturnType<typeof one>>[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => {
    while (next < requests.length) {
      const index = next;
      next += 1;
      answers[index] = await one(requests[index] as (typeof requests)[number]);
    }
  }));
  agent.destroy();
  return answers;
};

describe('whoever has a link and not its code', () => {
  it('does not find it in 20,000 tries from 50 addresses, the right one among them', async () => {
    const { token } = await aLink();
    const code = await sendCode(token);
    const first = (Number(code) - 10_000 + 1_000_000) % 1_000_000;
    const requests = Array.from({ length: 20_000 }, (_none, index) => ({ token, code: String((first + index) % 1_000_000).padStart(6, '0'), address: `192.0.2.${index % 50}` }));
    const answers = await attack(requests, { url: intake.url, width: 100 });
    expect(requests.some((one) => one.code === code)).toBe(true);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(await linkOf(token)).toMatchObject({ code_hash: null, tries: 20_000 });
    expect((await open(token, code)).status).toBe(403);
  }, 300_000);

  it('is stopped long before by the limits as they are shipped', async () => {
    const shipped = await rig.start({ trustProxy: 1 });
    const { token } = await aLink();
    await sendCode(token);
    const requests = Array.from({ length: 2_000 }, (_none, index) => ({ token, code: String(index).padStart(6, '0'), address: `198.51.100.${index % 50}` }));
    const answers = await attack(requests, { url: shipped.url, width: 50 });
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(30);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1_970);
  }, 60_000);
});

/** Two-sided p of the rank-sum test (Mann and Whitney 1947), by its normal approximation. */
const rankTest = (one: number[], other: number[]): number => {
  const all = [...one.map((ms) => ({ ms, first: true })), ...other.map((ms) => ({ ms, first: false }))].sort((a, b) => a.ms - b.ms);
  const sum = all.reduce((total, { first }, index) => total + (first ? index + 1 : 0), 0);
  const [n, m] = [one.length, other.length];
  const z = Math.abs(sum - (n * (n + m + 1)) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
  // Abramowitz and Stegun 26.2.17
  const t = 1 / (1 + 0.2316419 * z);
  const tail = (Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI)) * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return Math.min(1, 2 * tail);
};

describe('every wrong case', () => {
  const COUNT = 1_000;
  const FUTURE = "now() + interval '1 h'";

  it('answers alike in body, status and time', async () => {
    // 200 links bear five wrong tries of a living code each: the case that does the most.
    const events: { eventId: string }[] = [];
    for (let one = 0; one < 100; one += 1) events.push(await aLink());
    const living = events.flatMap(({ eventId }) => (['sms', 'email'] as const).map((channel) => reportToken(rig.engine.ring, eventId, channel)));
    const [expired, usedUp, uncoded] = await Promise.all([aLink(), aLink(), aLink()]);
    const revive = () => query(`UPDATE report_link SET code_hash = sha256('other'), code_until = ${FUTURE}, code_tries = 0, tries = 0 WHERE token_hash = ANY($1)`, [living.map(hashToken)]);
    await query(`UPDATE report_link SET code_hash = sha256('other'), code_until = now() - interval '1 h' WHERE token_hash = $1`, [hashToken(expired.token)]);
    await query(`UPDATE report_link SET tries = 60, code_hash = sha256('other'), code_until = ${FUTURE} WHERE token_hash = $1`, [hashToken(usedUp.token)]);
    const cases: Record<string, (index: number) => string> = {
      'no such link': () => randomBytes(32).toString('base64url'), 'a wrong code': (index) => living[index % living.length] as string,
      'an expired code': () => expired.token, 'a link that is used up': () => usedUp.token, 'a link without a code': () => uncoded.token,
    };
    const names = Object.keys(cases);
    const round = async (): Promise<{ p: Record<string, number>; answers: { name: string; status: number; body: string }[] }> => {
      await revive();
      // In turn, so that whatever else the machine does falls on all of them alike.
      const requests = Array.from({ length: COUNT * names.length }, (_none, index) => {
        const name = names[index % names.length] as string;
        return { name, token: (cases[name] as (at: number) => string)(Math.floor(index / names.length)), code: '000000', address: `192.0.2.${index % 50}` };
      });
      const answers = (await attack(requests, { url: intake.url, width: 10 })).map((answer, index) => ({ ...answer, name: requests[index]?.name as string }));
      const timesOf = (name: string) => answers.filter((answer) => answer.name === name).map(({ ms }) => ms);
      return { answers, p: Object.fromEntries(names.slice(1).map((name) => [name, rankTest(timesOf(names[0] as string), timesOf(name))])) };
    };
    const first = await round();
    expect(new Set(first.answers.map(({ status }) => status))).toEqual(new Set([403]));
    expect(new Set(first.answers.map(({ body }) => body)).size).toBe(1);
    process.stdout.write(`p by case: ${JSON.stringify(first.p)}\n`);
    // Four tests at 1 % fail by chance once in 25 runs; twice in a row by the same case once in some thousands.
    const suspect = names.slice(1).filter((name) => (first.p[name] as number) <= 0.01);
    const second = suspect.length === 0 ? null : (await round()).p;
    expect(suspect.filter((name) => (second?.[name] ?? 0) <= 0.01)).toEqual([]);
    const uniform = await Promise.all([living[0] as string, 'x'.repeat(43), '1'].map(async (token) => [withoutId(await open(token, 'no code at all')), withoutId(await postJson(openUrl(token), {}))]));
    expect(new Set(uniform.flat().map((one) => JSON.stringify(one))).size).toBe(1);
  }, 300_000);
});
