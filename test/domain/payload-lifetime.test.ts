import { describe, expect, it } from '@jest/globals';
import { explain } from '../../shared/domain/explain.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import { destructionAt, hasOpenDeadLetter, submissionsEndAt } from '../../shared/domain/payload-lifetime.ts';
import type { PayloadTerms } from '../../shared/domain/policy.ts';
import { retryRefusal } from '../../shared/domain/retry.ts';
import type { AttemptState } from '../../shared/domain/state.ts';
import { RECONCILING, examplePolicy } from './policies.ts';
import type { PolicyChange } from './policies.ts';
import type { World, WorldOptions } from './world.ts';
import { START, accepted, bounced, deferred, lost, openWorld, reads, rejected, unavailable } from './world.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const EXPIRY = START + 15 * MINUTE;
const RETENTION = START + 400 * DAY;
const TERMS: PayloadTerms = { variables: 'submitted', addresses: 'retry_window', retryWindowMs: DAY };

const opened = (terms: Partial<PayloadTerms> = {}, change: PolicyChange = {}, options: Partial<WorldOptions> = {}): World => {
  const world = openWorld({ policy: examplePolicy({ ...change, policy: { payload: { ...TERMS, ...terms }, ...change.policy } }), ...options });
  world.accept({ payloadParts: ['secrets', 'variables', 'addresses'] });
  return world;
};
const gone = (world: World): string[] => Object.keys(world.state.payload?.destroyed ?? {}).sort();
const smsOnly = { order: ['sms' as const] };
const emailOnly = { order: ['email' as const] };
/** The email was taken by a mail server that says nothing more: nothing can fail, and nothing can be retried. */
const sent = (terms: Partial<PayloadTerms> = {}): World => {
  const world = opened(terms, emailOnly);
  world.start('email');
  world.answer('email', accepted());
  return world;
};

describe('no further submission is possible', () => {
  const played = (change: PolicyChange, act: (world: World) => void, options: Partial<WorldOptions> = {}): World => {
    const world = opened({}, change, options);
    act(world);
    return world;
  };
  const started = (world: World): void => { world.start('sms'); };
  const submitted = (world: World): void => { started(world); world.answer('sms', accepted()); };
  it.each<[string, World, number | null]>([
    ['is not known by time alone while an attempt waits in its queue', played(smsOnly, () => undefined), null],
    ['nor while a call is under way, which may have to be repeated', played(smsOnly, started), null],
    ['nor while one that was not processed waits to be repeated', played(smsOnly, (world) => { started(world); world.answer('sms', deferred()); }), null],
    ['holds from expiry on while a submitted message may still fail', played(smsOnly, submitted), EXPIRY],
    ['while a later step waits', played({}, submitted), EXPIRY],
    ['while an outcome is unknown, which may be replayed or heard of late', played(smsOnly, (world) => { started(world); world.answer('sms', lost); }), EXPIRY],
    ['while an operator may retry a failure', played(smsOnly, (world) => { started(world); world.answer('sms', rejected); }), EXPIRY],
    ['also once paused, for it can be resumed', played({ order: ['sms', 'email'] }, (world) => { submitted(world); world.pause(); world.poll('sms', reads('undelivered')); }), EXPIRY],
    ['after a delivery, which a bounce may take back', played(smsOnly, (world) => { submitted(world); world.poll('sms', reads('delivered')); }), EXPIRY],
    ['holds at once where the last provider has it and says nothing more', sent(), START],
    ['once closed', played({}, (world) => { submitted(world); world.close(); }), START],
    ['once closed with a call under way: its answer repeats nothing', played(smsOnly, (world) => { started(world); world.close(); }), START],
    ['where the policy refused it', (() => { const world = openWorld({ policy: examplePolicy() }); world.accept({ region: 'FR', payloadParts: ['secrets', 'addresses'] }); return world; })(), START],
  ])('%s', (_, world, expected) => {
    expect(submissionsEndAt(world.state)).toBe(expected);
  });

  it('waits past expiry for the answer of a call under way, and destroys in the append of that answer', () => {
    const world = opened({}, smsOnly);
    world.jumpTo(15 * MINUTE - 1_000);
    world.start('sms');
    world.jumpTo(15 * MINUTE + 2_000);
    world.tick();
    expect(gone(world)).toEqual([]);
    const { transitions } = world.answer('sms', deferred());
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['AttemptExpired', 'NotificationSettled', 'PayloadDestroyed']);
    expect(gone(world)).toEqual(['secrets', 'variables']);
  });
});

describe('secrets', () => {
  it('are destroyed in the very append of a close, also when it had settled long before', () => {
    const world = opened({ variables: 'retention' });
    expect(world.close().transitions.map(({ transition }) => transition.kind)).toEqual(['NotificationClosed', 'AttemptCancelled', 'NotificationSettled', 'PayloadDestroyed']);
    expect(world.last('PayloadDestroyed')).toEqual({ parts: ['secrets'] });
    const late = opened({ variables: 'retention' }, smsOnly);
    late.start('sms');
    late.answer('sms', accepted());
    late.poll('sms', reads('delivered'));
    late.jumpTo(MINUTE);
    expect(late.close().transitions.map(({ transition }) => transition.kind)).toEqual(['NotificationClosed', 'PayloadDestroyed']);
    expect(late.state.payload?.destroyed).toEqual({ secrets: START + MINUTE });
  });
  it('are destroyed at a close with a call in flight, whatever its answer says', () => {
    const world = opened({ variables: 'retention' }, smsOnly);
    world.start('sms');
    world.close();
    expect(gone(world)).toEqual(['secrets']);
    world.answer('sms', deferred());
    expect(world.attempt('sms').state).toBe('cancelled');
    expect(world.kinds().filter((kind) => kind === 'SubmissionStarted')).toHaveLength(1);
  });
  it('outlive a failure by the operator’s chance to retry it, and that chance ends at expiry', () => {
    const world = opened({}, smsOnly);
    world.start('sms');
    world.answer('sms', rejected);
    expect(world.state.settledAt).toBe(START);
    expect(nextDecideAt(world.state)).toBe(EXPIRY);
    world.jumpTo(5 * MINUTE);
    world.retry('sms');
    world.start('sms');
    world.answer('sms', rejected);
    world.runTo(15 * MINUTE);
    expect(gone(world)).toEqual(['secrets', 'variables']);
    expect(retryRefusal(world.state, world.attempt('sms').key, world.now, {})).toBe('expired');
  });
  it('are kept while polls go on that may end in a failure, and destroyed at expiry though polls go on', () => {
    const world = opened({}, smsOnly);
    world.start('sms');
    world.answer('sms', accepted());
    world.runTo(15 * MINUTE - 1);
    expect(gone(world)).toEqual([]);
    world.runTo(15 * MINUTE);
    expect(gone(world)).toEqual(['secrets', 'variables']);
    expect(world.attempt('sms').settledAt).toBeNull();
    world.poll('sms', reads('undelivered'));
    expect(world.attempt('sms').state).toBe('undelivered');
  });
  it('of an intent that is refused, or that can reach nobody, are destroyed in its first append', () => {
    const refused = openWorld({ policy: examplePolicy() });
    refused.accept({ region: 'FR', payloadParts: ['secrets', 'variables', 'addresses'] });
    expect(refused.kinds()).toEqual(['PolicyRejected', 'PayloadDestroyed']);
    expect(gone(refused)).toEqual(['addresses', 'secrets']);
    const barred = openWorld({ policy: examplePolicy() });
    barred.accept({ barred: { sms: 'no_consent', email: 'no_consent' }, payloadParts: ['secrets', 'variables', 'addresses'] });
    expect(barred.kinds().at(-1)).toBe('PayloadDestroyed');
    expect(gone(barred)).toEqual(['secrets']);
  });
});

describe('the terms of the policy', () => {
  it.each<[Partial<PayloadTerms>, Record<string, number | null>]>([
    [{ variables: 'submitted' }, { variables: EXPIRY, addresses: null }],
    [{ variables: 'settled' }, { variables: null, addresses: null }],
    [{ variables: 'retention' }, { variables: RETENTION, addresses: null }],
  ])('%j say when each part of an open notification goes', (terms, expected) => {
    const world = opened(terms, smsOnly);
    world.start('sms');
    world.answer('sms', accepted());
    expect({ variables: destructionAt(world.state, 'variables'), addresses: destructionAt(world.state, 'addresses') }).toEqual(expected);
  });
  it.each<[Partial<PayloadTerms>, string[], Record<string, number>]>([
    [{ variables: 'submitted' }, ['secrets', 'variables'], { addresses: START + DAY }],
    [{ variables: 'settled' }, ['secrets', 'variables'], { addresses: START + DAY }],
    [{ variables: 'retention' }, ['secrets'], { variables: RETENTION, addresses: START + DAY }],
    [{ variables: 'retention', addresses: 'retention' }, ['secrets'], { variables: RETENTION, addresses: RETENTION }],
    [{ variables: 'settled', retryWindowMs: 0 }, ['addresses', 'secrets', 'variables'], {}],
    [{ variables: 'settled', retryWindowMs: 500 * DAY }, ['secrets', 'variables'], { addresses: RETENTION }],
  ])('%j say what a settled notification has lost, and when the rest goes', (terms, at, rest) => {
    const world = sent(terms);
    expect(gone(world)).toEqual(at);
    for (const [part, instant] of Object.entries(rest)) expect([part, destructionAt(world.state, part as 'addresses')]).toEqual([part, instant]);
    const instants = Object.values(rest);
    expect(nextDecideAt(world.state)).toBe(instants.length > 0 ? Math.min(...instants) : null);
    world.runTo(401 * DAY);
    expect(gone(world)).toEqual(['addresses', 'secrets', 'variables']);
    expect(nextDecideAt(world.state)).toBeNull();
  });
  it('are those of the acceptance for life, and the defaults where a policy says nothing', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept({ payloadParts: ['variables', 'addresses'] });
    expect(world.last('NotificationAccepted').payload).toEqual({
      parts: ['variables', 'addresses'], variables: 'retention', addresses: 'retry_window', retry_window_ms: DAY, retention_until: RETENTION,
    });
  });
  it('hold for nothing that was accepted without them', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.close();
    world.runTo(500 * DAY);
    expect(world.kinds()).not.toContain('PayloadDestroyed');
  });
});

describe('where nothing follows settling', () => {
  const terms: Partial<PayloadTerms> = { afterSettling: 'nothing', retryWindowMs: 0 };
  it('everything goes in the append of the delivery that settles it, and a later bounce can be retried by nobody', () => {
    const world = opened(terms, smsOnly);
    world.start('sms');
    world.answer('sms', accepted());
    expect(gone(world)).toEqual([]);
    world.poll('sms', reads('delivered'));
    expect([world.kinds().slice(-2), gone(world)]).toEqual([['NotificationSettled', 'PayloadDestroyed'], ['addresses', 'secrets', 'variables']]);
    world.poll('sms', bounced);
    expect(retryRefusal(world.state, world.attempt('sms').key, world.now, { evenIfDelivered: true, acceptDuplicate: true })).toBe('payload_destroyed');
  });
  it('an open dead letter keeps it until expiry, for an operator may still retry it', () => {
    const world = opened(terms, smsOnly);
    world.start('sms');
    world.answer('sms', unavailable);
    expect([world.state.settledAt, gone(world), submissionsEndAt(world.state)]).toEqual([START, [], EXPIRY]);
  });
  it('an open outcome keeps it: it has not settled', () => {
    const world = opened(terms, smsOnly);
    world.start('sms');
    world.answer('sms', lost);
    expect([world.state.settledAt, gone(world)]).toEqual([null, []]);
  });
});

describe('addresses wait for an open dead letter', () => {
  const dead = (change: PolicyChange = smsOnly): World => {
    const world = opened({}, change);
    world.start('sms');
    world.answer('sms', unavailable);
    return world;
  };
  it('until its expiry, after which no retry is possible, and the window after that', () => {
    const world = dead();
    expect(hasOpenDeadLetter(world.state)).toBe(true);
    expect(destructionAt(world.state, 'addresses')).toBe(world.state.expiresAt + DAY);
  });
  it('also where it had been held before it ended so, but not for one that is merely held', () => {
    const { state } = dead();
    const held = (change: Partial<AttemptState>) => ({ ...state, attempts: state.attempts.map((attempt) => ({ ...attempt, held: true, ...change })) });
    expect([hasOpenDeadLetter(held({})), hasOpenDeadLetter(held({ state: 'submitted_unknown' }))]).toEqual([true, false]);
  });
  it('also where a message could not be rendered', () => {
    const world = opened({}, smsOnly, { render: () => ({ ok: false, reason: 'render_error' }) });
    expect(hasOpenDeadLetter(world.state)).toBe(true);
  });
  it.each<[string, (world: World) => void]>([
    ['it was closed', (world) => { world.close(); }],
    ['a retry took its place', (world) => { world.retry('sms'); world.start('sms'); world.answer('sms', rejected); }],
  ])('no longer once %s', (_, act) => {
    const world = dead();
    act(world);
    expect(destructionAt(world.state, 'addresses')).toBe(START + DAY);
  });
  it('no longer once another channel was delivered', () => {
    const world = dead({ order: ['sms', 'email'], email: { pollOffsetsMs: [5_000] } });
    expect(hasOpenDeadLetter(world.state)).toBe(true);
    const delivered = { ...world.state, attempts: world.state.attempts.map((attempt) => (attempt.channel === 'email' ? { ...attempt, state: 'delivered' as const } : attempt)) };
    expect(hasOpenDeadLetter(delivered)).toBe(false);
  });
});

describe('once a part is gone', () => {
  /** As an erasure leaves it: before its time, by somebody's word. */
  const without = (world: World) => ({ ...world.state, payload: world.state.payload && { ...world.state.payload, destroyed: { addresses: START } } });
  it('a retry that would need it is refused, whatever is overridden', () => {
    const world = opened({}, smsOnly);
    world.start('sms');
    world.answer('sms', rejected);
    const { key } = world.attempt('sms');
    expect(retryRefusal(world.state, key, world.now, {})).toBeNull();
    expect(retryRefusal(without(world), key, world.now, { evenIfDelivered: true, acceptDuplicate: true })).toBe('payload_destroyed');
  });
  it('an unknown attempt is still looked for, and never replayed', () => {
    const sms = opened({}, smsOnly);
    sms.start('sms');
    sms.answer('sms', lost);
    expect(retryRefusal(without(sms), sms.attempt('sms').key, sms.now, {})).toBeNull();
    const email = opened({}, emailOnly, { carriers: RECONCILING });
    email.start('email');
    email.answer('email', lost);
    expect(retryRefusal(email.state, email.attempt('email').key, email.now, {})).toBeNull();
    expect(retryRefusal(without(email), email.attempt('email').key, email.now, {})).toBe('payload_destroyed');
  });
  it('at expiry, a clock that is behind finds expiry past all the same', () => {
    const world = opened({}, { ...emailOnly, email: { onUnknown: 'replay' } }, { carriers: RECONCILING });
    world.jumpTo(15 * MINUTE - 2_000);
    world.start('email');
    world.answer('email', lost);
    world.jumpTo(15 * MINUTE);
    world.tick();
    expect(gone(world)).toEqual(['secrets', 'variables']);
    world.jumpTo(15 * MINUTE - 500);
    expect(world.answer('email', deferred(), 1).transitions.map(({ transition }) => transition.kind)).toContain('AttemptExpired');
    expect(world.attempt('email').state).toBe('expired');
  });
  it('a late bounce is a correction as ever', () => {
    const world = opened({}, smsOnly);
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    world.runTo(16 * MINUTE);
    expect(gone(world)).toEqual(['secrets', 'variables']);
    world.poll('sms', bounced);
    expect(world.attempt('sms').state).toBe('undelivered');
  });
});

it('a destruction is told in words, by the names of the parts alone', () => {
  const world = opened({ variables: 'retention' });
  world.close();
  const told = explain(world.state, world.entries.map(({ at, transition }) => ({ at, ...transition })), examplePolicy()).join('\n');
  expect(told).toContain('The secret variables were destroyed at 2026-01-05T12:00:00Z, so no message can be made from them any more; this record stays as it is.');
});
