import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { storeReport } from '../support/reports.ts';
import type { Answer, Rig } from './rig.ts';
import { createRig, postJson } from './rig.ts';

const SMS = '+12025550101';
const EMAIL = 'a@example.com';
let rig: Rig;
let intake: RunningIntake;
let auth: Record<string, string>;
let small: string;
let large: string;

beforeAll(async () => {
  rig = await createRig(undefined, 30_000);
  intake = await rig.start();
  auth = { Authorization: `Bearer ${await rig.createKey('default')}` };
  small = (await storeReport(rig.engine, randomBytes(100))).artifactId;
  large = (await storeReport(rig.engine, Buffer.alloc(21_000_001))).artifactId;
});
afterAll(() => rig.close());

let count = 0;
const notify = (artifact: string, recipient: Record<string, unknown>, key?: string): Promise<Answer> => {
  count += 1;
  return postJson(`${intake.url}/notifications`, {
    purpose: 'account-report', variables: { report_title: 'October' }, artifacts: [artifact],
    recipient: { ref: 'acct-1', region: 'US', locale: 'en', consent: ['email:account_holder', 'sms:report_notice'], ...recipient },
  }, { 'Idempotency-Key': key ?? `reach-${count}`, ...auth });
};

describe('a report that a message has only as a link', () => {
  test.each<[string, () => Promise<Answer>, string, [problem: RegExp, cure: RegExp]]>([
    ['too large for the mail, where there is no phone for the code', () => notify(large, { email: EMAIL }), 'recipient.sms', [/is missing, and the email has the report only as a link/, /^give recipient\.sms with a consent such as sms:report_notice, or store a report of at most 21,000,000 bytes/]],
    ['by SMS, where there is no mail for the code', () => notify(small, { sms: SMS }), 'recipient.email', [/is missing, and the SMS has the report only as a link/, /^give recipient\.email with a consent such as email:account_holder$/]],
    ['too large, with a phone that no code may go to', () => notify(large, { sms: SMS, email: EMAIL, consent: ['email:account_holder'] }), 'recipient.consent', [/has none for SMS that a code can be sent under/, /sms:report_notice, sms:account_holder, sms:consent/]],
    ['by SMS, with a mail that no code may go to', () => notify(small, { sms: SMS, email: EMAIL, consent: ['sms:report_notice'] }), 'recipient.consent', [/has none for email/, /email:account_holder/]],
    ['by SMS, with a mail basis that nobody names', () => notify(small, { sms: SMS, email: EMAIL, consent: ['email:newsletter', 'sms:report_notice'] }), 'recipient.consent', [/has none for email/, /email:contract/]],
  ])('is refused %s', async (_what, send, field, [problem, cure]) => {
    const { status, body } = await send();
    expect([status, body]).toEqual([422, expect.objectContaining({ code: 'report_unreachable', field, errors: [{ field, problem: expect.stringMatching(problem), cure: expect.stringMatching(cure) }] })]);
    expect((await rig.engine.db.pool.query('SELECT 1 FROM notification WHERE request_id = $1', [body['request_id']])).rowCount).toBe(0);
  });

  test.each<[string, () => Promise<Answer>, string]>([
    ['attached to the mail, also without a phone', () => notify(small, { email: EMAIL }), 'accepted'],
    ['too large for the mail, with a phone that takes codes though no notices', () => notify(large, { sms: SMS, email: EMAIL, consent: ['email:contract', 'sms:account_holder'] }), 'accepted'],
    ['linked by both channels, each with the other for its codes', () => notify(large, { sms: SMS, email: EMAIL }), 'accepted'],
    ['in no message at all, since nothing may be sent', () => notify(large, { sms: SMS, email: EMAIL, consent: [] }), 'suppressed'],
    ['in no message at all, since the region has no policy', () => notify(large, { email: EMAIL, region: 'JP' }), 'policy_rejected'],
  ])('is accepted %s', async (_what, send, status) => {
    const answer = await send();
    expect([answer.status, answer.body['status']]).toEqual([202, status]);
  });

  it('stays accepted where it was once, also if it could not be opened by now', async () => {
    const first = await notify(small, { email: EMAIL }, 'kept');
    const { versions } = rig.engine;
    rig.engine.versions = { ...versions, active: async (purpose) => {
      const bound = await versions.active(purpose);
      return bound && { ...bound, policy: { ...bound.policy, steps: bound.policy.steps.map((step) => ({ ...step, attachUpToBytes: 10 })) } };
    } };
    try {
      expect((await notify(small, { email: EMAIL })).body).toMatchObject({ code: 'report_unreachable' });
      expect(await notify(small, { email: EMAIL }, 'kept')).toMatchObject({ status: 200, body: { event_id: first.body['event_id'], replayed: true } });
    } finally {
      rig.engine.versions = versions;
    }
  });
});
