import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadTemplates } from '../../shared/content/template-file.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { withHash } from '../../shared/content/template.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { compareTexts } from '../../shared/delivery/compare-texts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { TEMPLATE_DIR } from '../content/render-support.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, SENDER, shippedPolicies, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const KEYS = generateKeyRingText();
const PURPOSE = 'game-support-urgent';
const START = Date.UTC(2026, 10, 1);
const DAY = 86_400_000;

const shipped = (name: string): TemplateVersion => loadTemplates(TEMPLATE_DIR).find((one) => one.name === name && one.version === 1) as TemplateVersion;
/** The shipped SMS with other words, as version `version`. */
const smsVersion = (version: number, change: (text: string) => string, variables: TemplateVersion['variables'] = {}): TemplateVersion => {
  const base = shipped('game-support-urgent-sms');
  const locales = Object.fromEntries(Object.entries(base.locales).map(([locale, parts]) => [locale, { sms: change(parts.sms ?? '') }]));
  return withHash({ ...base, version, locales, variables: { ...base.variables, ...variables } });
};
const LONGER = smsVersion(5, (text) => `${text} ${'Please look at once, and write down in the ticket what you have seen of it. '.repeat(3)}`);
const WANTING = smsVersion(3, (text) => `${text}{{ shift }}`, { shift: { type: 'string', max: 20 } });
const SAME = smsVersion(4, (text) => text);

describe('tocsin replay-render', () => {
  let database: TestDatabase;
  let engine: Engine & { close: () => Promise<void> };
  let now = START;
  let dir: string;
  const events: string[] = [];
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'tocsin-replay-'));
    database = await createTestDatabase();
    // The first version, whose templates all have one number.
    const policies = shippedPolicies().filter(({ version }) => version === 1);
    engine = await createTestEngine({ url: database.url, ring: KEYS, now: () => now, policies, templates: [LONGER, WANTING, SAME] });
    for (let index = 0; index < 5; index += 1) {
      now = START + index * DAY;
      const outcome = await acceptNotification(engine, urgentRequest('03'));
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
      events.push(outcome.eventId);
    }
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
    rmSync(dir, { recursive: true, force: true });
  });

  const env = { TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent', TWILIO_FROM: SENDER.sms, MAIL_FROM: SENDER.email };
  const replay = (...line: string[]) => run(['replay-render', '--purpose', PURPOSE, ...line], { env: { ...env, DATABASE_URL: database.url } });
  const json = async (...line: string[]) => {
    const ran = await replay(...line, '--json');
    const lines = ran.out.trim().split('\n').map((one) => JSON.parse(one) as Record<string, never>);
    return { code: ran.code, messages: lines.slice(0, -1) as Record<string, unknown>[], sum: lines.at(-1) as Record<string, unknown> };
  };
  const shown = async (): Promise<unknown[]> => (await engine.db.pool.query('SELECT event_id, actor, means, reason FROM payload_shown ORDER BY id')).rows;

  it('tells what another version would have said, by lengths, segments and shapes, newest first', async () => {
    const { code, messages, sum } = await json('--to', '5');
    expect([code, messages.map((one) => one['event_id'])]).toEqual([0, [...events].reverse()]);
    expect(messages[0]).toMatchObject({ channel: 'sms', template: 'game-support-urgent-sms', from: 1, to: 5, verdict: 'differs', recorded: 'matches', missing: [], fails: [], segments: { from: expect.any(Number), to: expect.any(Number) } });
    const [first] = messages as { hashes: { from: string; to: string }; segments: { from: number; to: number } }[];
    expect([first?.hashes.from === first?.hashes.to, (first?.segments.to ?? 0) > (first?.segments.from ?? 0)]).toEqual([false, true]);
    expect(sum).toMatchObject({ kind: 'sum', notifications: 5, passed_over: { destroyed: 0, no_address: 0, not_compared: 5 }, templates: [{ messages: 5, same: 0, differs: 5, fails: 0, drifted: 0 }] });
  });

  it('never prints a variable, an address or a word of the text', async () => {
    const people = await replay('--to', '5');
    const programs = await replay('--to', '5', '--json');
    for (const secret of ['payment_lockout', 'payments', 'locked out', '202555', 'oncall-03@', '127.0.0.1:3001/tickets', 'write down']) expect(people.out + people.err + programs.out).not.toContain(secret);
    expect(people.out).toMatch(/sms: \d+ -> \d+ characters, from line \d+: "[^"\w]*" -> "[^"\w]*"/);
    expect(people.out).toMatch(/template +messages +same +differ/);
    expect(await shown()).toEqual([]);
  });

  it('names the variables that a version lacks, and ends with 1', async () => {
    const { code, messages, sum } = await json('--to', '3', '--limit', '2');
    expect([code, messages.length]).toEqual([1, 2]);
    expect(messages[0]).toMatchObject({ verdict: 'fails', missing: ['shift'], fails: [{ version: 'to', problem: expect.stringContaining('shift') }] });
    expect(sum).toMatchObject({ notifications: 2, templates: [{ fails: 2, missing: { shift: 2 } }] });
    expect((await replay('--to', '3')).out).toContain('missing: shift');
  });

  it('finds no difference where there is none, whatever the number', async () => {
    expect(await json('--to', '4')).toMatchObject({ code: 0, messages: [{ verdict: 'same' }, {}, {}, {}, {}], sum: { templates: [{ same: 5, differs: 0 }] } });
    expect((await replay('--to', '4')).out).toMatch(/^5 notifications/);
  });

  it('looks only at what was accepted in a span', async () => {
    const { messages } = await json('--to', '5', '--since', '2026-11-02', '--until', '2026-11-04');
    expect(messages.map((one) => one['event_id'])).toEqual([events[2], events[1]]);
  });

  it('tries a version that is still being written, of every channel', async () => {
    cpSync(TEMPLATE_DIR, dir, { recursive: true });
    const file = join(dir, 'game-support-urgent-email/2/subject.en.liquid');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^/, 'Now: '));
    const { code, sum, messages } = await json('--candidate', dir);
    expect([code, messages.length]).toEqual([0, 10]);
    expect(messages.find((one) => one['channel'] === 'email')).toMatchObject({ verdict: 'differs', recorded: 'not_planned', changes: [{ part: 'subject', line: 1 }] });
    expect(sum).toMatchObject({ templates: [{ template: 'game-support-urgent-sms 1 -> 1', same: 5 }, { template: 'game-support-urgent-email 1 -> 2', differs: 5 }] });
  });

  it('compares each message with the version that it is bound to, and ends with 1 where it compared none', async () => {
    const other = await createTestDatabase();
    const current = await createTestEngine({ url: other.url, ring: KEYS, now: () => now });
    const candidate = mkdtempSync(join(tmpdir(), 'tocsin-replay-wanting-'));
    try {
      cpSync(TEMPLATE_DIR, candidate, { recursive: true });
      const file = join(candidate, 'game-support-urgent-email/2/text.en.liquid');
      writeFileSync(file, `${'x'.repeat(10)}${readFileSync(file, 'utf8')}`);
      await acceptNotification(current, urgentRequest('03'));
      const against = (...line: string[]) => run(['replay-render', '--purpose', PURPOSE, ...line], { env: { ...env, DATABASE_URL: other.url } });
      expect(await against('--candidate', candidate, '--json')).toMatchObject({ code: 0, out: expect.stringMatching(/"game-support-urgent-email 2 -> 2","messages":1,"same":0,"differs":1/) });
      // Nothing was accepted since then, or is bound to the first version of the email.
      for (const line of [['--since', '2030-01-01'], ['--from', '1', '--to', '2']]) {
        expect(await against('--candidate', candidate, ...line)).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was compared') });
      }
    } finally {
      await current.close();
      await other.drop();
      rmSync(candidate, { recursive: true, force: true });
    }
  });

  it.each([
    ['{{ shfit }}', 'sms.en.liquid:1:4 shfit: is not among the variables of template.yaml'],
    ['{% if shift', 'sms.en.liquid:1:1: tag "{% if shift'],
    ['{{ shift , at once', 'sms.en.liquid:1:1: output "{{ shift , at once'],
  ])('refuses a candidate whose highest version is broken, and does not fall back to a lower one: %s', async (fault, said) => {
    const broken = mkdtempSync(join(tmpdir(), 'tocsin-replay-broken-'));
    try {
      cpSync(TEMPLATE_DIR, broken, { recursive: true });
      cpSync(join(broken, 'game-support-urgent-sms/1'), join(broken, 'game-support-urgent-sms/2'), { recursive: true });
      const file = join(broken, 'game-support-urgent-sms/2/sms.en.liquid');
      writeFileSync(file, `${fault}${readFileSync(file, 'utf8')}`);
      for (const line of [[], ['--to', '2']]) {
        expect(await replay('--candidate', broken, ...line)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`game-support-urgent-sms/2/${said}`) });
      }
      // A version that is whole is still to be had by its number.
      expect(await replay('--candidate', broken, '--to', '1')).toMatchObject({ code: 0 });
    } finally {
      rmSync(broken, { recursive: true, force: true });
    }
  });

  it('shows both texts only where a reason is given, and records that before', async () => {
    expect(await replay('--to', '5', '--limit', '1', '--show')).toMatchObject({ code: 2, err: expect.stringContaining('--reason is missing') });
    expect(await replay('--to', '5', '--limit', '1', '--show', '--reason', 'he asked me')).toMatchObject({ code: 2, err: expect.stringContaining('--reason must be a code') });
    const { out } = await replay('--to', '5', '--limit', '1', '--show', '--reason', 'checked', '--actor', 'lead');
    expect(out).toContain('write down in the ticket');
    expect(await shown()).toEqual([{ event_id: events[4], actor: 'lead', means: 'replay-render', reason: 'checked' }]);
    await expect(engine.db.pool.query('DELETE FROM payload_shown')).rejects.toThrow(/permission denied|append-only/);
    // What is secret stays so.
    const email = await replay('--candidate', dir, '--limit', '1', '--show', '--reason', 'checked');
    expect(email.out).toContain('[message]');
    expect(email.out).not.toContain('locked out');
  });

  it('goes on with what is left once secrets and addresses are gone, and says that no hash can be told', async () => {
    await engine.db.pool.query(`UPDATE sealed_payload SET box = NULL, key_id = NULL, destroyed_at = now() WHERE event_id = $1 AND part = 'secrets'`, [events[0]]);
    await engine.db.pool.query('UPDATE recipient SET box = NULL, key_id = NULL, erased_at = now() WHERE event_id = $1', [events[1]]);
    await engine.db.pool.query(`UPDATE sealed_payload SET box = NULL, key_id = NULL, destroyed_at = now() WHERE event_id = $1 AND part = 'variables'`, [events[2]]);
    const { messages, sum } = await json('--candidate', dir);
    const of = (event: number, channel: string) => messages.find((one) => one['event_id'] === events[event] && one['channel'] === channel);
    expect(of(0, 'email')).toMatchObject({ verdict: 'differs', stood_in: expect.arrayContaining(['message']), recorded: 'not_planned', hashes: { from: null, to: null } });
    expect([of(0, 'sms'), of(1, 'sms')]).toMatchObject([{ verdict: 'same', recorded: 'unknown' }, { verdict: 'same', recorded: 'unknown' }]);
    expect(of(2, 'sms')).toBeUndefined();
    expect(sum).toMatchObject({ passed_over: { destroyed: 2 } });
  });

  it('finds a message that no longer renders to its hash', async () => {
    await engine.db.pool.query(`UPDATE notification_state SET state = jsonb_set(state::jsonb, '{attempts,0,renderHash}', '"00"') WHERE event_id = '${events[4]}'`);
    const { code, messages, sum } = await json('--to', '4', '--limit', '1');
    expect([code, messages[0]?.['recorded']]).toEqual([1, 'drifted']);
    expect(sum).toMatchObject({ templates: [{ drifted: 1 }] });
  });

  it.each([
    [['--to', '9'], 1, 'there is no such version to compare with'],
    [['--to', '2', '--from', '7'], 1, 'no policy of game-support-urgent uses version 7'],
    [['--to', 'two'], 2, '--to must be a whole number'],
    [[], 2, 'give --to with a published version, or --candidate'],
    [['--to', '2', '--since', 'yesterday'], 2, '--since is neither a span'],
  ] as const)('answers %j with %i', async (line, code, said) => {
    expect(await replay(...line)).toMatchObject({ code, out: '', err: expect.stringContaining(said) });
  });

  it('says that it tells only the first twenty where there are more, and not where there are twenty', async () => {
    now += DAY;
    for (let index = 0; index < 21; index += 1) await acceptNotification(engine, urgentRequest('03', { idempotencyKey: `many-${index}` }));
    const told = async (limit: number) => {
      const { out } = await replay('--to', '2', '--limit', String(limit));
      return [out.match(/^evt_\S+ +(?:sms|email) +differs/gm)?.length, out.includes('Only the first 20 are told one by one')];
    };
    expect([await told(19), await told(20), await told(21)]).toEqual([[19, false], [20, false], [20, true]]);
  });

  it('refuses a purpose that nobody knows', async () => {
    expect(await run(['replay-render', '--purpose', 'news', '--to', '2'], { env: { ...env, DATABASE_URL: database.url } })).toMatchObject({ code: 1, err: expect.stringContaining('there is no purpose news') });
  });
});

describe('the difference of two texts', () => {
  it('is a place, two lengths and two shapes', () => {
    expect(compareTexts({ sms: 'Hello Ada, your code is 12.' }, { sms: 'Hello Ada,\nyour code: 12.' })).toEqual([{ part: 'sms', characters: { from: 27, to: 25 }, line: 1, changed: { from: ' •••• •••• ••', to: '⏎•••• ••••:' } }]);
    expect(compareTexts({ subject: 'same' }, { subject: 'same' })).toEqual([]);
  });
});
