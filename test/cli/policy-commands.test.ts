import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createVersionStore } from '../../shared/delivery/versions.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { publishVersions } from '../../shared/ledger/versions.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { POLICY_DIR, TEMPLATE_DIR } from '../content/render-support.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, SENDER, shippedPolicies, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const KEYS = generateKeyRingText();
const PURPOSE = 'game-support-urgent';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
let dir: string;
/** Moves on as the test says, so that what is active is read anew. */
let tick = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  const created = await createTestEngine({ url: database.url, ring: KEYS, policies: shippedPolicies() });
  engine = { ...created, versions: createVersionStore(created.db, () => tick) };
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tocsin-versions-'));
  cpSync(POLICY_DIR, join(dir, 'policies'), { recursive: true });
  cpSync(TEMPLATE_DIR, join(dir, 'templates'), { recursive: true });
});
afterEach(() => { rmSync(dir, { recursive: true, force: true }); });

const env = (over: Record<string, string> = {}) => ({
  DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent', TOCSIN_POLICY_DIR: join(dir, 'policies'), TOCSIN_TEMPLATE_DIR: join(dir, 'templates'),
  TWILIO_FROM: SENDER.sms, MAIL_FROM: SENDER.email, ...over,
});
const tocsin = (line: string[], over?: Record<string, string>) => run(line, { env: env(over) });
const jsonOf = async (line: string[]): Promise<Record<string, unknown>> => JSON.parse((await tocsin([...line, '--json'])).out) as Record<string, unknown>;
const file = (path: string): string => join(dir, path);
const edit = (from: string, to: string, change: (text: string) => string): void => writeFileSync(file(to), change(readFileSync(file(from), 'utf8')));

/** A version of the policy after the shipped one, which is active, whose SMS has another text. */
const writeNextVersion = (): void => {
  edit(`policies/${PURPOSE}/2.yaml`, `policies/${PURPOSE}/3.yaml`, (text) => text.replace('decide_within: 30s', 'decide_within: 45s').replace('template_version: 1', 'template_version: 2'));
  cpSync(file('templates/game-support-urgent-sms/1'), file('templates/game-support-urgent-sms/2'), { recursive: true });
  edit('templates/game-support-urgent-sms/2/sms.en.liquid', 'templates/game-support-urgent-sms/2/sms.en.liquid', (text) => text.replace('URGENT', 'NOW'));
};
const accept = async (): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest('03'));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const activate = (version: number, over: string[] = ['--reason', 'checked']) => tocsin(['policy', 'activate', PURPOSE, String(version), ...over]);

describe('policy and template lint', () => {
  it('say that there is nothing to object to, with and without a database', async () => {
    for (const command of ['policy', 'template']) {
      expect(await tocsin([command, 'lint'])).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Nothing to object to; \d policy|template versions could be read\.\n$/) });
      expect((await tocsin([command, 'lint', join(dir, command === 'policy' ? 'policies' : 'templates')], { DATABASE_URL: '' })).out).toContain('since no database is known');
    }
  });

  it('tell all faults of all files with place and cure, errors and warnings, and exit with 1', async () => {
    edit(`policies/${PURPOSE}/1.yaml`, 'policies/game-support-routine/3.yaml', (text) => text.replace('decide_within: 30s', 'decide_within: 30').replace('template_version: 1', 'template_version: 9'));
    writeFileSync(file('templates/game-support-urgent-sms/1/sms.de.liquid'), 'Tocsin {{ category | shout }}\n');
    const ran = await tocsin(['policy', 'lint', dir]);
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/policies\/game-support-routine\/3\.yaml:31:20: error: steps\[0\]\.decide_within has no unit; write 30s/);
    expect(ran.out).toMatch(/templates\/game-support-urgent-sms\/1\/sms\.de\.liquid:1:8: error: undefined filter: shout; remove it/);
    expect(await jsonOf(['template', 'lint', file('templates')])).toMatchObject({
      errors: 1, findings: [{ level: 'error', code: 'unknown_filter', line: 1, problem: 'undefined filter: shout', cure: expect.stringContaining('remove it') }],
    });
  });

  it('find a version that was changed after its activation', async () => {
    edit(`policies/${PURPOSE}/1.yaml`, `policies/${PURPOSE}/1.yaml`, (text) => text.replace('decide_within: 30s', 'decide_within: 40s'));
    expect(await jsonOf(['policy', 'lint'])).toMatchObject({ errors: 1, compared_with_database: true, findings: [{ code: 'version_changed', line: 2, cure: expect.stringContaining('give the changed file the next number') }] });
    writeFileSync(file('templates/game-support-urgent-sms/1/sms.de.liquid'), 'Tocsin {{ category }}\n');
    expect(await jsonOf(['template', 'lint'])).toMatchObject({ errors: 1, findings: [{ code: 'version_changed' }] });
  });

  it.each([
    ['policy', () => edit(`policies/${PURPOSE}/1.yaml`, `policies/${PURPOSE}/1.yaml`, (text) => text.replace('decide_within: 30s', 'decide_within: 40s')), `policies/${PURPOSE}/1.yaml:2`],
    ['template', () => writeFileSync(file('templates/game-support-urgent-sms/1/sms.de.liquid'), 'Tocsin {{ category }}\n'), 'templates/game-support-urgent-sms/1/template.yaml:'],
  ])('and doctor go by the same rules: a %s version that was changed is a fault for it too', async (_kind, change, place) => {
    const found = async () => ((await jsonOf(['doctor']))['findings'] as { name: string; verdict: string; text: string }[]).find(({ name }) => name === 'lint');
    expect(await found()).toMatchObject({ verdict: 'ok' });
    change();
    expect(await found()).toMatchObject({ verdict: 'fault', text: expect.stringMatching(/with another content, and a published version never changes/) });
    expect((await found())?.text).toContain(place);
  });

  it('know the deployment\'s transports: what one cannot do another can', async () => {
    edit(`policies/${PURPOSE}/1.yaml`, `policies/${PURPOSE}/3.yaml`, (text) => text.replace('on_unknown: hold', 'on_unknown: resubmit_if_absent'));
    expect((await tocsin(['policy', 'lint'])).out).toContain('twilio cannot be asked');
    expect((await tocsin(['policy', 'lint'], { SMS_TRANSPORT: 'sinch' })).code).toBe(0);
  });

  it.each([[['policy', 'lint', '/nonexistent/x']], [['template', 'lint', '/nonexistent/x']]])('%j says that there is no such folder', async (line) => {
    expect(await tocsin(line)).toMatchObject({ code: 1, err: expect.stringContaining('the folder /nonexistent/x is not there') });
  });

  it('name what was given where that is a file, and not a variable that has nothing to do with it', async () => {
    for (const [line, field] of [[['policy', 'lint', file(`policies/${PURPOSE}/1.yaml`)], 'DIR'], [['template', 'lint', file('templates/game-support-urgent-sms/1/template.yaml')], 'DIR'], [['policy', 'lint', file('policies'), '--templates', file(`policies/${PURPOSE}/1.yaml`)], '--templates']] as const) {
      const refused = await tocsin([...line, '--json']);
      expect([refused.code, JSON.parse(refused.out)]).toEqual([1, { error: expect.objectContaining({ code: 'not_a_folder', field, message: `${line.at(-1)} is a file, and no folder` }) }]);
    }
    expect(await tocsin(['policy', 'lint', file('policies'), '--templates', '/nonexistent/x'])).toMatchObject({ code: 1, err: expect.stringContaining('the folder /nonexistent/x is not there') });
  });
});

describe('policy activate', () => {
  it('takes up a version for new notifications only; an older one keeps, shows and renders what it was, also after the way back', async () => {
    const older = await accept();
    const before = { shown: await jsonOf(['show', older]), message: await tocsin(['show', older, '--message', '--json']) };
    expect(before.message.code).toBe(0);
    expect(JSON.parse(before.message.out)).toMatchObject({ messages: [{ verdict: 'matches', template_version: 1, message: { channel: 'sms', text: expect.stringContaining('Tocsin URGENT: payment_lockout') } }] });

    writeNextVersion();
    const activated = await activate(3, ['--reason', 'the new wording', '--actor', 'ada']);
    expect(activated).toMatchObject({ code: 0, err: '', out: expect.stringContaining(`${PURPOSE} 3 is active for new notifications, instead of 2`) });
    tick += 1_000;
    const newer = await accept();
    expect(await jsonOf(['show', newer])).toMatchObject({ policy: { version: 3 }, template: { version: 2 } });
    expect(await jsonOf(['show', newer, '--message'])).toMatchObject({ messages: [{ verdict: 'matches', template_version: 2, message: { text: expect.stringContaining('Tocsin NOW:') } }] });

    expect(await jsonOf(['show', older])).toEqual(before.shown);
    expect(await tocsin(['show', older, '--message', '--json'])).toEqual(before.message);

    expect(await activate(2, ['--reason', 'incident'])).toMatchObject({ code: 0, out: expect.stringContaining('instead of 3') });
    tick += 1_000;
    expect(await jsonOf(['show', await accept()])).toMatchObject({ policy: { version: 2 } });
    expect(await jsonOf(['show', newer])).toMatchObject({ policy: { version: 3 } });
    expect(await tocsin(['show', older, '--message', '--json'])).toEqual(before.message);
  });

  it('is kept with actor, instant and reason, the sentence sealed, and a boot does not undo the way back', async () => {
    expect(await jsonOf(['policy', 'list', PURPOSE, '--history'])).toMatchObject({ activations: [
      { version: 2, actor: 'cli', reason: 'incident', text: null }, { version: 3, actor: 'ada', reason: 'other', text: 'the new wording' }, { version: 2, actor: 'boot', reason: 'newest' }] });
    const rows = (await engine.db.pool.query('SELECT row_to_json(a)::text AS text FROM policy_activation a')).rows as { text: string }[];
    expect(rows.map(({ text }) => text).join()).not.toContain('wording');
    await publishVersions(engine.db, { policies: shippedPolicies(), templates: [], now: Date.now() });
    expect(await jsonOf(['policy', 'list', PURPOSE])).toMatchObject({ policies: [{ version: 1, state: 'published', activated_at: null }, { version: 2, state: 'active' }, { version: 3, state: 'published', activated_by: 'ada' }] });
  });

  it('refuses to rewrite a published version or an activation, whoever asks', async () => {
    const owner = openDatabase({ url: database.url, poolSize: 1, role: null });
    try {
      for (const statement of ['UPDATE policy_version SET hash = hash', 'DELETE FROM policy_activation', 'UPDATE template_version SET hash = hash', 'TRUNCATE policy_activation']) {
        await expect(owner.pool.query(statement)).rejects.toThrow(/append-only/);
      }
    } finally {
      await owner.close();
    }
  });

  it('costs one read a second, however many are accepted', async () => {
    let reads = 0;
    const counted = new Proxy(engine.db, { get: (target, name) => (name === 'prisma' ? new Proxy(target.prisma, { get: (prisma, key) => { if (key === '$queryRaw') reads += 1; return Reflect.get(prisma, key) as unknown; } }) : Reflect.get(target, name) as unknown) });
    const versions = createVersionStore(counted, () => tick);
    for (let asked = 0; asked < 5; asked += 1) await versions.active(PURPOSE);
    expect(reads).toBe(1);
    tick += 1_000;
    await versions.active(PURPOSE);
    expect(reads).toBe(2);
  });

  it('records nothing where the version is active already', async () => {
    expect(await activate(2)).toMatchObject({ code: 0, out: expect.stringContaining('active already') });
    expect((await jsonOf(['policy', 'list', PURPOSE, '--history']))['activations']).toHaveLength(3);
  });

  it('refuses what does not exist, and says what there is', async () => {
    expect(await activate(9)).toMatchObject({ code: 1, err: expect.stringContaining(`${PURPOSE} has no version 9; it has 1, 2, 3`) });
    expect(await tocsin(['policy', 'activate', 'nonsense', '1', '--reason', 'checked'])).toMatchObject({ code: 1, err: expect.stringMatching(/no purpose nonsense; there are account-report, game-support-routine, game-support-urgent/) });
  });

  it('refuses what does not lint, with its faults, and publishes nothing of it', async () => {
    edit(`policies/${PURPOSE}/1.yaml`, `policies/${PURPOSE}/4.yaml`, (text) => text.replace('template_version: 1', 'template_version: 8'));
    const refused = await activate(4);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/game-support-urgent 4 does not lint:\n +\S*policies\/game-support-urgent\/4\.yaml:27:23: error: steps\[0\]\.template_version is 8/);
    expect((await engine.db.pool.query('SELECT 1 FROM policy_version WHERE version = 4')).rows).toEqual([]);
  });

  it('by a start or a migration passes over a version that fits nothing, publishes it, and says so', async () => {
    edit(`policies/${PURPOSE}/1.yaml`, `policies/${PURPOSE}/5.yaml`, (text) => text.replace('template_version: 1', 'template_version: 8'));
    const ran = await tocsin(['migrate']);
    expect(ran).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/not taken up by itself: game-support-urgent 5\npolicies\/game-support-urgent\/5\.yaml:27:23 steps\[0\]\.template_version: is 8, but/) });
    expect(await jsonOf(['policy', 'list', PURPOSE])).toMatchObject({ policies: [{ version: 1 }, { version: 2, state: 'active' }, { version: 3 }, { version: 5, state: 'published', activated_at: null }] });
  });

  it.each([
    [['policy', 'activate', PURPOSE, 'two', '--reason', 'checked'], 'VERSION must be a number'],
    [['policy', 'activate', PURPOSE, '2'], '--reason is missing'],
    [['policy', 'activate', PURPOSE, '2', '--reason', 'checked', '--actor', 'a b'], '--actor must be a short name'],
    [['policy', 'activate', PURPOSE], 'VERSION is missing'],
  ])('answers %j with exit code 2', async (line, said) => {
    expect(await tocsin(line)).toMatchObject({ code: 2, err: expect.stringContaining(said) });
  });
});

describe('show --message', () => {
  it('says where the message comes out otherwise, and never takes it for what was sent', async () => {
    const eventId = await accept();
    await engine.db.pool.query("UPDATE notification_state SET state = jsonb_set(state::jsonb, '{attempts,0,renderHash}', '\"0\"') WHERE event_id = $1", [eventId]);
    expect(await tocsin(['show', eventId, '--message'])).toMatchObject({ code: 1, out: expect.stringContaining('this is not what was planned then') });
  });

  it('knows the sender of the acceptance, whatever the deployment sends from by now', async () => {
    const eventId = await accept();
    const elsewhere = { TWILIO_FROM: '+12025550199', MAIL_FROM: 'other@example.com' };
    expect((await tocsin(['show', eventId, '--message', '--unmasked'], elsewhere)).out).toContain('To: +12025550103\nFrom: +12025550100\n\nTocsin URGENT: payment_lockout');
  });

  it('says destroyed once what it was made of is gone', async () => {
    const eventId = await accept();
    await engine.db.pool.query("UPDATE sealed_payload SET key_id = NULL, box = NULL, destroyed_at = '2026-01-01' WHERE event_id = $1", [eventId]);
    expect(await jsonOf(['show', eventId, '--message'])).toMatchObject({ messages: [{ verdict: 'destroyed', message: null, hash: expect.stringMatching(/^[0-9a-f]{64}$/) }] });
  });
});

describe('the template commands', () => {
  it('list versions with the active policies that use them', async () => {
    expect(await jsonOf(['template', 'list', 'game-support-urgent-sms'])).toMatchObject({ templates: [{ version: 1, used_by: [`${PURPOSE}/2`] }, { version: 2, used_by: [] }] });
    expect((await tocsin(['template', 'list'])).out).toMatch(/^template +version +channel/);
    expect(await tocsin(['template', 'list', 'nonsense'])).toMatchObject({ code: 1 });
  });

  it('list without a database says that nobody knows which version is active', async () => {
    const ran = await tocsin(['policy', 'list', PURPOSE], { DATABASE_URL: '' });
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('Only the folder was read, since no database is known: which versions are published, and which one is active, is not known.\n') });
    expect(JSON.parse((await tocsin(['policy', 'list', PURPOSE, '--json'], { DATABASE_URL: '' })).out)).toMatchObject({ database: false, policies: [{ version: 1, active: null }, { version: 2, active: null }] });
    expect(await jsonOf(['policy', 'list', PURPOSE])).toMatchObject({ database: true, policies: expect.arrayContaining([expect.objectContaining({ active: true }), expect.objectContaining({ active: false })]) });
  });

  it('preview says of a language that the template has no text for what its reader gets', async () => {
    const other = await tocsin(['template', 'preview', 'game-support-urgent-sms@1', '--locale', 'xx']);
    expect(other).toMatchObject({ code: 0, out: expect.stringContaining('in en\nthere is no text for xx, so its reader gets en; there are: en, de\n') });
    expect(await jsonOf(['template', 'preview', 'game-support-urgent-sms@1', '--locale', 'xx'])).toMatchObject({ locale: 'en', is_fallback: true });
    for (const line of [[], ['--locale', 'de-AT'], ['--locale', 'en-GB']]) {
      expect(await jsonOf(['template', 'preview', 'game-support-urgent-sms@1', ...line])).toMatchObject({ is_fallback: false });
      expect((await tocsin(['template', 'preview', 'game-support-urgent-sms@1', ...line])).out).not.toContain('there is no text');
    }
  });

  it('preview an SMS with its segments, in the locale that a reader would get', async () => {
    const ran = await tocsin(['template', 'preview', 'game-support-urgent-sms@1', '--locale', 'de-AT', '--variables', 'category={{ ref }}']);
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('Tocsin DRINGEND: {{ ref }}, re, queue.') });
    expect(ran.out).toMatch(/1 segment, \d+ characters, GSM-7/);
  });

  it('preview an email, its HTML part escaped and in a file', async () => {
    writeFileSync(file('values.json'), JSON.stringify({ message: '<b>now</b>' }));
    const ran = await tocsin(['template', 'preview', 'game-support-urgent-email', '--variables', file('values.json'), '--out', file('mail.html')]);
    expect(ran.out).toContain('Subject: [Urgent] Tickets for queue');
    expect(ran.out).toContain('<b>now</b>');
    expect(readFileSync(file('mail.html'), 'utf8')).toContain('&lt;b&gt;now&lt;/b&gt;');
  });

  it.each([
    [['template', 'preview', 'game-support-urgent-sms', '--variables', 'nonsense=1'], 2, 'declares no nonsense'],
    [['template', 'preview', 'game-support-urgent-sms', '--out', 'x'], 2, '--out is for the HTML part of an email'],
    [['template', 'preview', 'game-support-urgent-sms@7'], 1, 'has no version 7; it has 1, 2'],
    [['template', 'preview', 'game-support-urgent-sms', '--variables', 'region=USA'], 1, 'variable region is longer than 2'],
    [['template', 'preview', 'nonsense'], 1, 'there is no template nonsense'],
  ])('answer %j with exit code %i', async (line, code, said) => {
    expect(await tocsin(line)).toMatchObject({ code, err: expect.stringContaining(said) });
  });
});
