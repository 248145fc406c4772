import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import type { Answer, Rig } from './rig.ts';
import { createRig, postJson } from './rig.ts';

let rig: Rig;
let intake: RunningIntake;
let key: string;

beforeAll(async () => {
  rig = await createRig(undefined, 30_000);
  intake = await rig.start();
  key = await rig.createKey('acme');
});
afterAll(() => rig.close());

let count = 0;
const send = (body: Record<string, unknown>): Promise<Answer> => {
  count += 1;
  return postJson(`${intake.url}/notifications`, body, { Authorization: `Bearer ${key}`, 'Idempotency-Key': `values-${count}` });
};
const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
const reset = (over: Record<string, string>, expiresAt?: string): Promise<Answer> => send({
  purpose: 'password-reset', ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  recipient: { ref: 'u-1', sms: '+12025550101', email: 'a@example.com', region: 'US', locale: 'en', consent: ['sms:contract', 'email:contract'] },
  variables: { service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_code: '481999', reset_url: 'https://accounts.example.com/reset/TOKEN', ...over },
});
const ticket = (over: Record<string, string>): Promise<Answer> => send({
  purpose: 'game-support-urgent', recipient: { ref: 'u-1', sms: '+12025550101', email: 'a@example.com', region: 'US', locale: 'en', consent: ['sms:on_call_duty', 'email:on_call_duty'] },
  variables: { category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en', player_ref: 'p', message: 'm', received_at: 'now', ticket_url: 'https://example.com/t', ...over },
});
const fieldsOf = ({ body }: Answer): string[] => (body['errors'] as { field: string }[]).map(({ field }) => field);

describe('values that contradict each other', () => {
  test.each<[string, Record<string, string>]>([
    ['to a stranger\'s host', { reset_url: 'https://evil.example.net/TOKEN' }],
    ['to a host that only ends alike', { reset_url: 'https://evilaccounts.example.com/TOKEN' }],
    ['to the host above the stated one', { reset_url: 'https://example.com/TOKEN' }],
    ['to what stands behind an @ in the stated host', { host: 'accounts.example.com@evil.example.net', reset_url: 'https://evil.example.net/TOKEN' }],
    ['to another port than is stated', { host: 'accounts.example.com:8443' }],
  ])('are refused where a link leads %s, by both fields and without their values', async (_what, over) => {
    const answer = await reset(over);
    expect([answer.status, answer.body['code'], fieldsOf(answer)]).toEqual([422, 'variables_contradict', ['variables.reset_url', 'variables.host']]);
    expect(answer.text).not.toMatch(/evil|TOKEN/);
  });

  it('are none where the link leads to the stated host, in whichever letters, or to one under it', async () => {
    for (const url of ['https://ACCOUNTS.example.com:443/t', 'https://eu.accounts.example.com/t']) expect((await reset({ reset_url: url })).status).toBe(202);
  });

  it('are refused where the message states an instant after its expiry, and not where it states one before, or a text', async () => {
    const late = await reset({ valid_until: inMinutes(11) }, inMinutes(10));
    expect([late.status, late.body['code'], fieldsOf(late)]).toEqual([422, 'variables_contradict', ['variables.valid_until', 'expires_at']]);
    expect((await reset({ valid_until: inMinutes(16) })).body).toMatchObject({ code: 'variables_contradict' });
    expect((await reset({ valid_until: inMinutes(9) }, inMinutes(10))).status).toBe(202);
    expect((await reset({ valid_until: 'this evening' }, inMinutes(10))).status).toBe(202);
  });
});

describe('the text of a variable', () => {
  test.each<[string, () => Promise<Answer>, string, RegExp]>([
    ['an escape', () => ticket({ message: 'a\u001b[2Jb' }), 'variables.message', /control character/],
    ['a carriage return alone', () => ticket({ message: 'a\rb' }), 'variables.message', /control character/],
    ['a line break where it stands in a subject', () => reset({ service: 'Harbour\r\nBcc: x@example.com' }), 'variables.service', /line break, and stands in the subject/],
    ['nothing', () => reset({ reset_code: '' }), 'variables.reset_code', /is blank/],
    ['spaces alone', () => ticket({ message: ' \n ' }), 'variables.message', /is blank/],
  ])('is refused with %s', async (_what, ask, field, problem) => {
    const { status, body } = await ask();
    expect([status, body]).toEqual([422, expect.objectContaining({ code: 'invalid_variable', field, errors: [expect.objectContaining({ problem: expect.stringMatching(problem) })] })]);
  });

  it('may have lines and tabs where it stands in a body', async () => {
    expect((await ticket({ message: 'one\r\n\ttwo\nthree' })).status).toBe(202);
  });
});
