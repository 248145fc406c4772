import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import { expectAnswers } from '../support/answers.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const consent = [{ channel: 'sms' as const, basis: 'consent', reference: 'c' }, { channel: 'email' as const, basis: 'consent', reference: 'c' }];
const ACCOUNT_REFUSED = [{ submit: 'reject', code: 20003 }] as never;
const TAKEN = [{ submit: 'accept' }, { status: 'delivered', afterMs: 2_000 }] as never;

describeOnBackends('a provider that refuses our account', (backend) => {
  let world: World;
  let number = 1_300;
  beforeAll(async () => { world = await openWorld({ backend }); });
  afterAll(() => world.close());

  /** A number of its own, which the provider treats as told. */
  const numberThat = (script: never): string => {
    number += 1;
    const sms = `+1202555${number}`;
    expect(world.sandbox.setScenario(sms, script)).toBeNull();
    return sms;
  };
  const accept = (sms: string, email: string | null = null): Promise<string> =>
    world.accept('00', { recipient: { ref: sms, sms, email, region: 'US', locale: 'en', timeZone: null, consent } });
  const held = (eventId: string) => world.until(eventId, (state) => (state.attempts[0]?.providerWaitAt ?? null) !== null);
  const submitted = (eventId: string) => world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
  const received = (eventId: string, channel: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`)).length;
  const provider = async () => (await world.ask("SELECT state, failures, probe_at FROM provider_state WHERE provider = 'twilio'"))[0];
  const letters = async () => Number((await world.ask("SELECT count(*) AS n FROM dead_letter WHERE reason = 'provider_auth'"))[0]?.['n']);
  const untilProbe = async (): Promise<void> => {
    world.jump(((await provider())?.['probe_at'] as Date).getTime() - world.now());
    await world.coordinator.sweep();
  };

  test('costs one dead letter; others go by email at once, and the first call that passes ends it', async () => {
    const first = await accept(numberThat(ACCOUNT_REFUSED), 'one@example.com');
    await world.until(first, (state) => state.attempts[1]?.state === 'submitted');
    expect((await world.state(first)).attempts[0]).toMatchObject({ state: 'dead_lettered', reason: 'provider_auth' });
    expect([await letters(), (await provider())?.['state']]).toEqual([1, 'open']);
    const next = await accept(numberThat(TAKEN), 'two@example.com');
    const state = await world.until(next, (one) => one.attempts[1]?.state === 'submitted');
    expect(state.attempts[0]).toMatchObject({ state: 'cancelled', submissions: 0 });
    expect([received(next, 'sms'), received(next, 'email'), await letters()]).toEqual([0, 1, 1]);
    await untilProbe();
    const probe = await accept(numberThat(TAKEN), 'three@example.com');
    await submitted(probe);
    expect([received(probe, 'sms'), received(probe, 'email'), (await provider())?.['state']]).toEqual([1, 0, 'closed']);
    await world.advance(2_000_000);
    for (const [eventId, name] of [[first, 'whose-account-was-refused'], [next, 'that-did-not-wait'], [probe, 'that-was-the-probe']] as const) await expectAnswers(world, eventId, `provider-trouble/${name}`);
  });

  test('lets wait what has nowhere else to go: one of it probes, and the rest goes out once, when that passes', async () => {
    await world.until(await accept(numberThat(ACCOUNT_REFUSED)), (state) => state.attempts[0]?.state === 'dead_lettered');
    const before = await letters();
    const waiting = await Promise.all([1, 2, 3].map(() => accept(numberThat(TAKEN))));
    for (const eventId of waiting) await held(eventId);
    await world.coordinator.sweep();
    expect(waiting.map((eventId) => received(eventId, 'sms'))).toEqual([0, 0, 0]);
    await expectAnswers(world, waiting[0] as string, 'provider-trouble/that-waits');
    await untilProbe();
    for (const eventId of waiting) await submitted(eventId);
    expect(waiting.map((eventId) => received(eventId, 'sms'))).toEqual([1, 1, 1]);
    const starts = await world.ask("SELECT body::jsonb->'details'->'probe' AS probe FROM ledger_entry WHERE kind = 'SubmissionStarted' AND event_id = ANY($1)", [waiting]);
    expect(starts.filter((one) => one['probe'] === true)).toHaveLength(1);
    expect([await letters(), (await provider())?.['state']]).toEqual([before, 'closed']);
    await world.advance(2_000_000);
  });

  test('is probed with a longer pause after each refusal, and at once by an operator', async () => {
    const sms = numberThat(ACCOUNT_REFUSED);
    const first = await accept(sms);
    await world.until(first, (state) => state.attempts[0]?.state === 'dead_lettered');
    const waits = await accept(numberThat(ACCOUNT_REFUSED));
    await held(waits);
    await untilProbe();
    await world.until(waits, (state) => state.attempts[0]?.submissions === 1 && state.attempts[0].providerWaitAt !== null);
    expect(await provider()).toMatchObject({ state: 'open', failures: 2 });
    expect(world.sandbox.setScenario(sms, TAKEN)).toBeNull();
    const retried = await retryAttempt(world.engine, { tenant: null, attempt: `${first}.sms.1`, reason: 'checked', overrides: {}, actor: 'ana', requestId: 'r' });
    expect(retried).toMatchObject({ kind: 'retried', means: 'new_attempt' });
    await world.until(first, (state) => state.attempts[1]?.state === 'submitted');
    expect((await provider())?.['state']).toBe('closed');
    await world.until(waits, (state) => (state.attempts[0]?.providerWaitAt ?? null) === null);
  });
});
