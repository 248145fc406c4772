import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import { hearWord } from '../../shared/ledger/inbound-words.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const NUMBER = '+12025550103';
const KEYS = generateKeyRingText();

describe('tocsin suppress', () => {
  let database: TestDatabase;
  let engine: Engine & { close: () => Promise<void> };
  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await createTestEngine({ url: database.url, ring: KEYS });
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  const env = () => ({ DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' });
  const suppress = (line: string[]) => run(['suppress', ...line], { env: env() });
  const sms = (over: string[] = []) => ['--channel', 'sms', '--address', NUMBER, '--reason', 'requested', ...over];
  const calls: string[] = [];
  const transport = {
    channel: 'sms', name: 'twilio',
    submit: ({ attemptKey }: { attemptKey: string }) => { calls.push(attemptKey); return Promise.resolve({ kind: 'accepted', providerMessageId: `M-${attemptKey}` }); },
  } as unknown as Transport;

  it('adds a destination whose open notification then submits nothing to it, and starts the other channel', async () => {
    const outcome = await acceptNotification(engine, urgentRequest('03'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    const added = await suppress(['add', ...sms(['--actor', 'oncall-01'])]);
    expect(added).toMatchObject({ code: 0, err: '' });
    expect(added.out).toContain('no submission to it is started');
    await performAttempt(engine, `${outcome.eventId}.sms.1`, { transport, submitStartWithinMs: 2_000, actor: 'test' });
    expect(calls).toEqual([]);
    expect((await engine.load(outcome.eventId))?.state.attempts.map(({ channel, state }) => [channel, state])).toEqual([['sms', 'suppressed'], ['email', 'queued']]);
  });

  it('finds a number however it was written, adds it once, and says so', async () => {
    const again = await run(['suppress', 'add', '--channel', 'sms', '--address', '+1 (202) 555-0103', '--reason', 'requested', '--json'], { env: env() });
    expect([again.code, JSON.parse(again.out)]).toEqual([0, expect.objectContaining({ channel: 'sms', suppressed: true, replayed: true })]);
  });

  it('lists prints, reason and actor, and no address', async () => {
    const listed = await suppress(['list', '--json']);
    expect(JSON.parse(listed.out)).toMatchObject({ more: false, suppressions: [{ channel: 'sms', sender: null, reason: 'requested', source: 'hand', actor: 'oncall-01', removed_at: null }] });
    const people = await suppress(['list']);
    expect(people.out).toMatch(/^tenant {3}channel {2}destination/);
    expect(listed.out + people.out).not.toContain('202555');
  });

  it('means an address however its letters are written', async () => {
    expect(await suppress(['add', '--channel', 'email', '--address', 'OnCall-04@EXAMPLE.com', '--reason', 'requested'])).toMatchObject({ code: 0 });
    const outcome = await acceptNotification(engine, urgentRequest('04'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    expect((await engine.load(outcome.eventId))?.suppressed).toEqual([expect.stringMatching(/^email:/)]);
    expect(await suppress(['remove', '--channel', 'email', '--address', 'oncall-04@example.com', '--reason', 'test'])).toMatchObject({ code: 0 });
  });

  it('refuses a key ring that is not the deployment\'s, with which nothing would be found', async () => {
    const refused = await run(['suppress', 'add', ...sms(), '--json'], { env: { ...env(), TOCSIN_KEYS: generateKeyRingText() } });
    expect([refused.code, JSON.parse(refused.out)]).toEqual([1, { error: expect.objectContaining({ code: 'wrong_keys', field: 'TOCSIN_KEYS' }) }]);
  });

  it('refuses a tenant that nobody knows', async () => {
    const refused = await suppress(['add', ...sms(['--tenant', 'defualt', '--json'])]);
    expect([refused.code, JSON.parse(refused.out)]).toEqual([1, { error: expect.objectContaining({ code: 'unknown_tenant', field: '--tenant' }) }]);
  });

  it('takes one back, keeps that it was there, and refuses to take back what is not', async () => {
    expect(await suppress(['remove', ...sms(['--actor', 'lead'])])).toMatchObject({ code: 0 });
    expect((await suppress(['list'])).out).toBe('Nothing is suppressed.\n');
    const all = JSON.parse((await suppress(['list', '--removed', '--channel', 'sms', '--address', NUMBER, '--json'])).out) as { suppressions: unknown[] };
    expect(all.suppressions).toMatchObject([{ actor: 'oncall-01', removed_by: 'lead', removed_reason: 'requested' }]);
    const refused = await suppress(['remove', ...sms(['--json'])]);
    expect([refused.code, JSON.parse(refused.out)]).toEqual([1, { error: expect.objectContaining({ code: 'not_found', field: '--address' }) }]);
  });

  it.each([
    [['add', '--channel', 'fax', '--address', NUMBER, '--reason', 'requested'], '--channel must be sms or email'],
    [['add', '--channel', 'sms', '--address', '2025550103', '--reason', 'requested'], '--address must be a phone number with + and country code'],
    [['add', '--channel', 'email', '--address', 'ada', '--reason', 'requested'], '--address must be an email address'],
    [['add', '--channel', 'sms', '--address', NUMBER], '--reason is missing'],
    [['add', '--channel', 'sms', '--address', NUMBER, '--reason', 'he called me'], '--reason must be one of'],
    [['add', '--channel', 'sms', '--reason', 'requested'], '--address is missing'],
    [['list', '--address', NUMBER], '--address needs --channel'],
    [[], '"suppress" needs one of: list, add, remove'],
  ])('answers %j with exit code 2, and never repeats the address', async (line, said) => {
    const ran = await suppress(line);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(said);
    expect(ran.err).not.toContain('2025550103');
  });

  it('has a tenant that gets its first key keep to what recipients texted before', async () => {
    const number = '+12025550177';
    const word = { provider: 'twilio', messageId: 'SM1', word: 'stop', addressPrint: addressPrint(engine.ring, 'sms', number), senderPrint: Buffer.from(engine.senderPrints.sms ?? '', 'hex') } as const;
    expect(await hearWord(engine.db, { ...word, receivedAt: engine.now(), now: engine.now() })).toBe('suppressed');
    expect(await run(['key', 'create', '--label', 'late', '--tenant', 'late'], { env: env() })).toMatchObject({ code: 0 });
    const { out } = await suppress(['list', '--channel', 'sms', '--address', number, '--json']);
    expect((JSON.parse(out) as { suppressions: { tenant: string; source: string; actor: string }[] }).suppressions.map(({ tenant, source, actor }) => [tenant, source, actor]))
      .toEqual([['late', 'stop', 'recipient'], ['default', 'stop', 'recipient']]);
  });
});
