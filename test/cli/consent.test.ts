import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const NUMBER = '+12025550103';
const KEYS = generateKeyRingText();

describe('tocsin consent', () => {
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

  const consent = (...line: string[]) => run(['consent', ...line], { env: { DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' } });
  const sms = (...more: string[]) => ['--channel', 'sms', '--address', NUMBER, ...more];
  const steps = async (): Promise<unknown[]> => {
    const outcome = await acceptNotification(engine, urgentRequest('03'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return (await engine.load(outcome.eventId))?.state.steps.map(({ phase, reason }) => [phase, reason]) ?? [];
  };

  it('withdraws a basis, after which nothing that rests on it alone is started, and restores it', async () => {
    const withdrawn = await consent('withdraw', ...sms('--basis', 'on_call_duty', '--reason', 'duty_ended', '--actor', 'oncall-01'));
    expect(withdrawn).toMatchObject({ code: 0, err: '' });
    expect(withdrawn.out).toMatch(/^Taken back: on_call_duty of sms [0-9a-f]{12}\. From now on no submission/);
    expect(withdrawn.out).not.toContain('202555');
    expect(await steps()).toEqual([['skipped', 'consent_withdrawn'], ['started', null]]);
    expect((await consent('withdraw', ...sms('--basis', 'on_call_duty', '--reason', 'duty_ended'))).out).toContain('was taken back already');
    const listed = JSON.parse((await consent('list', ...sms('--json'))).out) as { withdrawals: unknown[] };
    expect(listed.withdrawals).toMatchObject([{ channel: 'sms', basis: 'on_call_duty', reason: 'duty_ended', actor: 'oncall-01', restored_at: null }]);
    expect(await consent('restore', ...sms('--basis', 'on_call_duty', '--reason', 'renewed'))).toMatchObject({ code: 0, err: '' });
    expect((await steps())[0]).toEqual(['started', null]);
    expect((await consent('list')).out).toBe('No consent was taken back.\n');
    expect((await consent('list', '--restored')).out).toMatch(/on_call_duty.*renewed/);
    const { entries } = JSON.parse((await run(['audit', 'list', '--json'], { env: { DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' } })).out) as { entries: unknown[] };
    expect(entries.slice(-3)).toMatchObject([
      { action: 'consent.restore', result: 'done', reason: 'renewed' }, { action: 'consent.withdraw', result: 'unchanged' }, { action: 'consent.withdraw', actor: 'oncall-01', result: 'done', reason: 'duty_ended', target: expect.stringMatching(/^default\/sms\/[0-9a-f]{12}$/) },
    ]);
  });

  it('says of a basis that no policy names that it may be a slip, and which there are', async () => {
    const slip = await consent('withdraw', ...sms('--basis', 'on_cal_duty', '--reason', 'duty_ended'));
    expect(slip).toMatchObject({ code: 0, err: expect.stringMatching(/^Note: no published policy names the basis on_cal_duty \(they name .*\bon_call_duty\b.*\).* If it is a slip, withdraw the right one\.\n$/) });
    expect(JSON.parse((await consent('withdraw', ...sms('--basis', 'on_cal_duty', '--reason', 'duty_ended', '--json'))).out)).toMatchObject({ replayed: true, named_by_policies: false });
    expect(JSON.parse((await consent('restore', ...sms('--basis', 'on_cal_duty', '--reason', 'mistake', '--json'))).out)).toMatchObject({ restored: 1 });
  });

  it('withdraws every basis where none is named, for programs too', async () => {
    expect(JSON.parse((await consent('withdraw', ...sms('--reason', 'objection', '--json'))).out)).toMatchObject({ channel: 'sms', basis: null, withdrawn: true, replayed: false });
    expect(JSON.parse((await consent('restore', ...sms('--reason', 'mistake', '--json'))).out)).toMatchObject({ restored: 1 });
  });

  it('refuses what it does not understand, and never repeats an address', async () => {
    for (const line of [sms('--reason', 'because'), sms('--reason', 'requested', '--basis', 'Not A Basis'), ['--channel', 'sms', '--address', '5553190', '--reason', 'requested']]) {
      const refused = await consent('withdraw', ...line);
      expect(refused.code).toBe(2);
      expect(refused.err).not.toMatch(/\+12025550103|5553190/);
    }
    expect(await consent('restore', ...sms('--reason', 'renewed'))).toMatchObject({ code: 1 });
  });
});
