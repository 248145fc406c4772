import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { storedKey } from '../../shared/security/stored-key.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { readCsv } from '../../services/cli/csv-records.ts';
import { readLines } from '../../services/cli/export-lines.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, shippedPolicies, untiringPolicies, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const KEYS = generateKeyRingText();
const START = Date.UTC(2026, 10, 1);
const AT = '2026-11-01T00:00:00Z';
const GONE = 'evt_01KDZ8Q2M3N4P5R6S7T8V9W0XY';

let dir: string;
beforeAll(() => { dir = mkdtempSync(join(tmpdir(), 'tocsin-reconcile-')); });
afterAll(() => { rmSync(dir, { recursive: true, force: true }); });
const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

describe('tocsin reconcile', () => {
  let database: TestDatabase;
  let engine: Engine & { close: () => Promise<void> };
  let now = START;
  /** SMS of these: accepted by the provider (three times), rejected so that the email follows, and in shadow. */
  const events: string[] = [];
  const accept = async (key: string, purpose: string, over = {}): Promise<string> => {
    now += 60_000;
    const outcome = await acceptNotification(engine, urgentRequest('03', { idempotencyKey: storedKey(engine.ring, 'default', key), purpose, ...over }));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return outcome.eventId;
  };
  const sms = (result: 'accepted' | 'rejected') => ({
    channel: 'sms', name: 'twilio',
    submit: ({ attemptKey }: { attemptKey: string }) => Promise.resolve(result === 'accepted' ? { kind: 'accepted', providerMessageId: `M-${attemptKey}` } : { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination' }),
  }) as unknown as Transport;
  const perform = (eventId: string, result: 'accepted' | 'rejected') => performAttempt(engine, `${eventId}.sms.1`, { transport: sms(result), submitStartWithinMs: 60_000, actor: 'test' });

  beforeAll(async () => {
    database = await createTestDatabase();
    const urgent = shippedPolicies().find(({ purpose }) => purpose === 'game-support-urgent') as Policy;
    const shadow: Policy = { ...urgent, purpose: 'in-shadow', steps: urgent.steps.slice(0, 1).map((step) => ({ ...step, shadow: true })) };
    engine = await createTestEngine({ url: database.url, ring: KEYS, now: () => now, policies: [...untiringPolicies(), shadow] });
    for (const [index, result] of (['accepted', 'accepted', 'accepted', 'rejected', 'accepted'] as const).entries()) {
      events.push(await accept(`order ${index + 1}`, index === 4 ? 'in-shadow' : 'game-support-urgent'));
      await perform(events[index] as string, result);
    }
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  const env = () => ({ DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' });
  const reconcile = (path: string, ...line: string[]) => run(['reconcile', path, ...line], { env: env() });
  const json = async (path: string, ...line: string[]) => {
    const ran = await reconcile(path, ...line, '--json');
    const lines = ran.out.trim().split('\n').map((one) => JSON.parse(one) as Record<string, unknown>);
    return { code: ran.code, findings: lines.slice(0, -1), sum: lines.at(-1) as Record<string, unknown> };
  };
  const row = (event: number, channel: string, outcome: string): string => `${events[event]},${channel},${outcome},${AT}`;
  const whole = () => [row(0, 'sms', 'sent'), row(1, 'sms', 'sent'), row(2, 'sms', 'sent'), row(3, 'sms', 'rejected'), row(3, 'email', 'queued'), row(4, 'sms', 'delivered')];
  const csv = (rows: readonly string[]): string => `event_id,channel,outcome,at\n${rows.join('\n')}\n`;

  it('finds nothing where both records say the same; a step in shadow agrees with whatever was sent there', async () => {
    expect(await json(file('same.csv', csv(whole())))).toEqual({ code: 0, findings: [], sum: expect.objectContaining({ rows: 6, compared: 6, same: 6, passed_over: 0 }) });
    expect((await reconcile(join(dir, 'same.csv'))).out).toMatch(/^ +count\nrows +6\nthe same +6\n/);
  });

  it('compares by event, never by totals: two that were taken for each other are two findings', async () => {
    const rows = whole();
    rows[2] = row(2, 'sms', 'rejected');
    rows[3] = row(3, 'sms', 'sent');
    const { code, findings, sum } = await json(file('swapped.csv', csv(rows)));
    expect([code, sum['differences']]).toEqual([1, { 'undelivered -> sent': 1, 'sent -> undelivered': 1 }]);
    expect(findings).toEqual([
      { kind: 'differs', line: 4, event_id: events[2], channel: 'sms', theirs: 'undelivered', ours: 'sent', state: 'submitted' },
      { kind: 'differs', line: 5, event_id: events[3], channel: 'sms', theirs: 'sent', ours: 'undelivered', state: 'rejected' },
    ]);
  });

  it('finds what is missing on either side, and what comes twice, of which the last row counts', async () => {
    const rows = [row(0, 'sms', 'failed'), row(0, 'sms', 'sent'), `${GONE},sms,delivered,${AT}`, row(3, 'sms', 'rejected'), row(3, 'email', 'pending'), row(1, 'email', 'sent')];
    const { code, findings } = await json(file('missing.csv', csv(rows)));
    expect(code).toBe(1);
    expect(findings).toEqual(expect.arrayContaining([
      { kind: 'twice', line: 2, event_id: events[0], channel: 'sms' },
      { kind: 'missing_here', line: 4, event_id: GONE, channel: 'sms', outcome: 'delivered' },
      { kind: 'missing_there', event_id: events[1], channel: 'sms', state: 'submitted', outcome: 'sent' },
      { kind: 'missing_there', event_id: events[2], channel: 'sms', state: 'submitted', outcome: 'sent' },
      { kind: 'differs', line: 7, event_id: events[1], channel: 'email', theirs: 'sent', ours: 'not_sent', state: null },
    ]));
    const people = (await reconcile(join(dir, 'missing.csv'))).out;
    expect(people).toContain(`missing here   line 4 ${GONE} sms (delivered)`);
    expect(people).toMatch(/missing there +\d/);
  });

  it('knows what both systems call by an idempotency key', async () => {
    const rows = ['order 1', 'order 2', 'order 3', 'order 9'].map((key) => JSON.stringify({ idempotency_key: key, channel: 'SMS', outcome: 'Sent', at: START }));
    const { code, findings } = await json(file('keys.jsonl', `${rows.join('\n')}\n`));
    expect([code, findings]).toEqual([1, [{ kind: 'missing_here', line: 4, event_id: null, channel: 'sms', outcome: 'sent' }]]);
    const elsewhere = await run(['reconcile', join(dir, 'keys.jsonl'), '--json'], { env: { ...env(), TOCSIN_KEYS: '' } });
    expect([elsewhere.code, JSON.parse(elsewhere.out)]).toEqual([1, { error: expect.objectContaining({ code: 'no_keys' }) }]);
    const wrong = await run(['reconcile', join(dir, 'keys.jsonl'), '--json'], { env: { ...env(), TOCSIN_KEYS: generateKeyRingText() } });
    expect(JSON.parse(wrong.out)).toEqual({ error: expect.objectContaining({ code: 'wrong_keys' }) });
    expect(await json(join(dir, 'keys.jsonl'), '--tenant', 'other')).toMatchObject({ findings: [{ kind: 'missing_here' }, {}, {}, {}] });
  });

  it('tells every bad row by its line and its fault, and loses none of the others', async () => {
    const text = [
      '\uFEFFchannel,event_id,outcome,note,at', `sms,${events[0]},sent,"two\nlines, and a ""quote""",${AT}`, `sms,${events[1]},sent,5" wide,${AT}`, `fax,${events[1]},sent,,${AT}`, `sms,${events[1]},vanished,,${AT}`,
      `sms,${events[1]},sent,${AT}`, `sms,,sent,,${AT}`, `sms,${events[1]},sent,,yesterday`, '', `sms,evt_1,sent,,${AT}`, `sms,${events[2]},sent,,${AT}`, `sms,${events[3]},rejected,"never closed,${AT}`, `email,${events[3]},queued,,${AT}`,
    ].join('\r\n');
    const { code, findings, sum } = await json(file('bad.csv', text), '--purpose', 'game-support-urgent');
    expect([code, (sum['found'] as Record<string, number>)['bad_row'], sum['rows'], sum['same']]).toEqual([1, 8, 11, 3]);
    expect(findings.filter(({ kind }) => kind === 'bad_row').map(({ line, problem }) => [line, String(problem).slice(0, 34)])).toEqual([
      [4, 'is not CSV: a field with a quote m'], [5, 'has the channel "fax", which is ne'], [6, 'has the outcome "vanished", which '], [7, 'has 4 fields, and the header 5'],
      [8, 'has neither event_id nor idempoten'], [9, 'has no instant in at (ISO 8601 wit'], [11, 'has an event_id that is none (evt_'], [13, 'opens a quote that is never closed'],
    ]);
    const people = (await reconcile(join(dir, 'bad.csv'))).out;
    expect(people).toContain('bad row        line 5 has the channel "fax"');
  });

  it('tells bad lines of JSON, and never repeats what stands in them', async () => {
    const { findings } = await json(file('bad.jsonl', `{"a":\n[]\n{"event_id":"${GONE}","channel":"+12025550103 call me","outcome":"sent","at":1}\n${'x'.repeat(70_000)}\n`));
    expect(findings.filter(({ kind }) => kind === 'bad_row').map(({ line, problem }) => [line, problem])).toEqual([
      [1, 'is not a JSON object'], [2, 'is not a JSON object'], [3, 'has the channel what stands there, which is neither sms nor email'], [4, 'is longer than a row can be'],
    ]);
  });

  it('takes the words of an old system by a map', async () => {
    const path = file('words.csv', csv([row(0, 'sms', 'Handed Over'), row(1, 'sms', 'sent'), row(2, 'sms', 'sent'), row(3, 'sms', 'hard_bounce'), row(3, 'email', 'queued'), row(4, 'sms', 'sent')]));
    expect((await json(path)).code).toBe(1);
    expect((await json(path, '--map', 'handed over=sent', '--map', 'hard_bounce=undelivered')).code).toBe(0);
    expect(await reconcile(path, '--map', 'handed=there')).toMatchObject({ code: 2, err: expect.stringContaining('--map is WORD=OUTCOME') });
  });

  it('leaves out what is of another purpose or time', async () => {
    const path = file('purpose.csv', csv(whole().slice(0, 5)));
    expect(await json(path, '--purpose', 'in-shadow')).toMatchObject({ code: 0, sum: { rows: 5, compared: 0, passed_over: 5 } });
    expect(await json(path, '--since', '2026-11-02')).toMatchObject({ code: 0, sum: { passed_over: 5 } });
    expect(await json(path, '--since', '2026-10-31', '--until', '2026-11-02')).toMatchObject({ code: 1, findings: [{ kind: 'missing_there', event_id: events[4], state: 'shadowed', outcome: 'would_send' }] });
  });

  it.each([
    ['empty.csv', '', 'the file is empty'],
    ['header.csv', 'id,channel,at\n', 'the header (line 1) lacks event_id or idempotency_key, outcome'],
    ['twice.csv', 'event_id,event_id,channel,outcome,at\n', 'names event_id twice'],
  ])('refuses %s as a whole', async (name, text, said) => {
    expect(await reconcile(file(name, text))).toMatchObject({ code: 1, out: '', err: expect.stringContaining(said) });
  });
  it('refuses a file that is not there, and a format that it does not know', async () => {
    expect(await reconcile(join(dir, 'none.csv'))).toMatchObject({ code: 1, err: expect.stringContaining('cannot be read (ENOENT)') });
    expect(await reconcile(join(dir, 'same.csv'), '--format', 'xml')).toMatchObject({ code: 2 });
  });

  it.each([[20, false], [21, true]])('tells %d findings of a kind one by one, and says that there are more only where there are', async (count, hasMore) => {
    const rows = Array.from({ length: count }, (_, index) => `${GONE.slice(0, -4)}${String(index).padStart(4, '0')},sms,sent,${AT}`);
    const { out } = await reconcile(file('twenty.csv', csv([...rows, ...whole()])));
    expect([out.match(/^missing here +line \d+/gm)?.length, /^missing here +more of these are counted only; --json tells all$/m.test(out)]).toEqual([20, hasMore]);
  });

  it('takes thousands of rows in any order, and shows how far it is', async () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => `${GONE.slice(0, -4)}${String(index).padStart(4, '0')},sms,sent,${AT}`).reverse();
    const ran = await run(['reconcile', file('many.csv', csv([...rows, ...whole()]))], { env: env(), tty: true });
    expect([ran.code, /missing here +5000/.test(ran.out), ran.out.split('\n').length < 60]).toEqual([1, true, true]);
    expect(ran.err).toMatch(/[█░]+ +\d+ %/);
  });
});

describe('a CSV file', () => {
  const read = async (text: string) => {
    const found: (string[] | string)[] = [];
    for await (const { fields, problem } of readCsv(readLines(file('read.csv', text)))) found.push(fields ?? String(problem));
    return found;
  };
  it.each([
    ['a,b\r\nc,d', [['a', 'b'], ['c', 'd']]], ['a,\n,b\n', [['a', ''], ['', 'b']]], ['"a,""b""","c\r\nd"\n', [['a,"b"', 'c\nd']]], ['""\n', [['']]], ['\n\na\n', [['a']]],
  ])('%j is read as RFC 4180 has it', async (text, records) => { expect(await read(text)).toEqual(records); });
  it.each([['a"b\nc\n'], ['"a"b\nc\n'], ['"a\nc\n'], ['a,"b" \nc\n']])('%j costs its first line alone', async (text) => {
    const found = await read(text);
    expect([typeof found[0], found.at(-1)]).toEqual(['string', ['c']]);
  });

  const LINES = 500_000;
  it.each<[what: string, text: string, told: number, records: number]>([
    ['a stray quote in front of lines without any', `"a\n${'b\n'.repeat(LINES)}`, 1, LINES],
    ['a stray quote in every line', 'a"b\n'.repeat(LINES), LINES, 0],
    ['a stray quote now and then', `"a\n${'b\n'.repeat(40_000)}`.repeat(12), 12, 12 * 40_000],
    ['a hundred thousand stray quotes in lines as long as they may be', `${'a"b"c'.repeat(10_000)}\n`.repeat(20), 20, 0],
  ])('of megabytes is read to its end, each line a bounded number of times, with %s', async (_what, text, told, records) => {
    let [problems, whole] = [0, 0];
    for await (const { problem } of readCsv(readLines(file('large.csv', text)))) if (problem === null) whole += 1; else problems += 1;
    expect([problems, whole]).toEqual([told, records]);
  }, 20_000);
});
