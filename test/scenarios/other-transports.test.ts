import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeOnBackends } from '../support/backends.ts';
import { untiringPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

/** As shipped, but the email is asked after too: its provider has a status. */
const policies = untiringPolicies().map((policy) => ({ ...policy, steps: policy.steps.map((step) => (step.channel === 'email' ? { ...step, pollOffsetsMs: [5_000, 15_000] } : step)) }));

describeOnBackends('with Sinch and Resend as providers', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend, policies, transports: { sms: 'sinch', email: 'resend' } }); });
  afterAll(() => world.close());

  const got = (eventId: string, channel: string) => world.sandbox.messages().filter((message) => message.attempt_key === `${eventId}.${channel}.1`).length;

  test('an SMS that is delivered needs no email', async () => {
    const eventId = await world.accept('01');
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    await world.advance(29_000);
    expect(await world.status(eventId)).toBe('delivered');
    expect([got(eventId, 'sms'), got(eventId, 'email')]).toEqual([1, 0]);
  });

  test('an SMS that is refused is followed by an email at once, whose delivery is heard of', async () => {
    const eventId = await world.accept('05');
    const state = await world.until(eventId, (now) => now.attempts[1]?.state === 'submitted');
    expect(state.attempts.map(({ provider }) => provider)).toEqual(['sinch', 'resend']);
    await world.advance(20_000);
    expect(await world.status(eventId)).toBe('delivered');
    expect([got(eventId, 'sms'), got(eventId, 'email')]).toEqual([0, 1]);
  });

  test('a lost answer is looked for by the attempt key and found: one POST, no email', async () => {
    const number = '+12025551777';
    expect(world.sandbox.setScenario(number, [{ submit: 'lose_response' }, { status: 'delivered', afterMs: 3_000 }])).toBeNull();
    const consent = [{ channel: 'sms' as const, basis: 'consent', reference: 'c' }, { channel: 'email' as const, basis: 'consent', reference: 'c' }];
    const eventId = await world.accept('00', { recipient: { ref: 'r', sms: number, email: 'r@example.com', region: 'US', locale: 'en', timeZone: null, consent } });
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted_unknown');
    await world.advance(25_000);
    expect(await world.kinds(eventId)).toContain('AttemptAdopted');
    expect(await world.status(eventId)).toBe('delivered');
    expect([got(eventId, 'sms'), got(eventId, 'email')]).toEqual([1, 0]);
  });
});
