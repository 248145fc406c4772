import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { withdrawConsent } from '../../shared/delivery/consent.ts';
import { decideAndAppend, inputFor } from '../../shared/delivery/decide-and-append.ts';
import { decide } from '../../shared/domain/decide.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { Append } from '../../shared/ledger/rows.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import { shippedPolicies, urgentRequest } from '../support/test-engine.ts';
import type { Candidate } from './append-conformance.ts';

const START = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const MOST = 3;

/** The shipped urgent policy, and the same with no more than three SMS in ten minutes. */
export const barringPolicies = (): Policy[] => {
  const urgent = shippedPolicies().find(({ purpose }) => purpose === 'game-support-urgent') as Policy;
  return [urgent, { ...urgent, purpose: 'throttled', steps: urgent.steps.map((step) => (step.channel === 'sms' ? { ...step, throttle: { most: MOST, withinMs: 10 * MINUTE } } : step)) }];
};

/** Consents that were taken back, and throttles: what every ledger must hold a start to. */
export const barringConformance = (name: string, open: (policies: Policy[]) => Promise<Candidate>): void => {
  describe(`what bars a start, ${name}`, () => {
    let candidate: Candidate;
    let line = 0;
    beforeAll(async () => { candidate = await open(barringPolicies()); });
    afterAll(async () => { await candidate.close(); });

    const nextNumber = (): string => {
      line += 1;
      return `+1202557${String(1_000 + line)}`;
    };
    interface One { eventId: string; number: string }
    const accept = async ({ number = nextNumber(), purpose = 'game-support-urgent', bases = ['on_call_duty'], at = START }: { number?: string; purpose?: string; bases?: string[]; at?: number } = {}): Promise<One> => {
      candidate.setNow(at);
      const request: AcceptRequest = urgentRequest('03', { purpose });
      const consent = bases.map((basis) => ({ channel: 'sms' as const, basis, reference: 'c' }));
      const outcome = await acceptNotification(candidate.engine, { ...request, recipient: { ...request.recipient, sms: number, consent: [...consent, { channel: 'email', basis: 'on_call_duty', reference: 'c' }] } });
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
      return { eventId: outcome.eventId, number };
    };
    const state = async ({ eventId }: One): Promise<NotificationState> => (await candidate.engine.ledger.load(eventId) as { state: NotificationState }).state;
    const decided = async ({ eventId }: One): Promise<Append> => {
      const loaded = await candidate.engine.ledger.load(eventId);
      if (!loaded) throw new Error('not loaded');
      const decision = decide({ kind: 'start_submission', attempt: `${eventId}.sms.1` }, loaded.state, inputFor(candidate.engine, loaded, await candidate.engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion)));
      return toAppend(decision, { before: loaded.state, prevHash: loaded.headHash, provenance: { actor: 'test', requestId: 'r' }, senders: candidate.engine.senderPrints, barring: loaded.suppressed });
    };
    const start = (one: One) => decideAndAppend(candidate.engine, one.eventId, { provenance: { actor: 'test', requestId: 's' }, command: () => ({ kind: 'start_submission', attempt: `${one.eventId}.sms.1` }) });
    const withdraw = (number: string, basis: string | null = null, over: Partial<Parameters<typeof withdrawConsent>[1]> = {}) =>
      withdrawConsent(candidate.engine, { tenant: 'default', channel: 'sms', address: number, basis, reason: 'requested', actor: 'test', ...over });
    const attempts = async (one: One) => (await state(one)).attempts.map(({ channel, state: name_, reason }) => [channel, name_, reason]);

    test('lets no start win that was decided before the consent was taken back (inv. 9)', async () => {
      const one = await accept();
      const append = await decided(one);
      expect(await withdraw(one.number)).toBe(true);
      expect(await candidate.engine.append(append)).toBe(false);
      await start(one);
      expect(await attempts(one)).toEqual([['sms', 'suppressed', 'consent_withdrawn'], ['email', 'queued', null]]);
    });
    test('skips the step of a notification that comes after it, and starts the next one', async () => {
      const number = nextNumber();
      await withdraw(number, 'on_call_duty');
      const one = await accept({ number });
      expect((await state(one)).steps.map(({ phase, reason }) => [phase, reason])).toEqual([['skipped', 'consent_withdrawn'], ['started', null]]);
    });
    test('goes on where another basis is left, that the policy accepts, until that goes too', async () => {
      const one = await accept({ bases: ['on_call_duty', 'consent', 'unheard_of'] });
      await withdraw(one.number, 'consent');
      const append = await decided(one);
      await withdraw(one.number, 'unheard_of');
      // News since it was decided on: it is decided anew, and may start.
      expect(await candidate.engine.append(append)).toBe(false);
      expect(await candidate.engine.append(await decided(one))).toBe(true);
      const other = await accept({ number: one.number, bases: ['on_call_duty', 'consent'] });
      await withdraw(one.number, 'on_call_duty');
      await start(other);
      expect((await attempts(other))[0]).toEqual(['sms', 'suppressed', 'consent_withdrawn']);
    });
    test('is taken back once, for that tenant and channel alone', async () => {
      const one = await accept();
      expect([await withdraw(one.number, 'consent'), await withdraw(one.number, 'consent'), await withdraw(one.number)]).toEqual([true, false, true]);
      const other = await accept();
      await withdraw(other.number, null, { tenant: 'another' });
      await withdraw(other.number, null, { channel: 'email' });
      expect(await candidate.engine.append(await decided(other))).toBe(true);
    });

    test('begins no more than the throttle allows within its window, whoever decided when', async () => {
      const number = nextNumber();
      const flood: One[] = [];
      for (let made = 0; made < MOST + 2; made += 1) flood.push(await accept({ number, purpose: 'throttled', at: START + made }));
      const appends = await Promise.all(flood.map(decided));
      const won: boolean[] = [];
      for (const append of appends) won.push(await candidate.engine.append(append));
      expect(won).toEqual([true, true, true, false, false]);
      const last = flood.at(-1) as One;
      await start(last);
      expect(await attempts(last)).toEqual([['sms', 'suppressed', 'throttled'], ['email', 'queued', null]]);
    });
    test('skips the step at once where as many were begun before, and not where that is long ago, of another purpose or to another destination', async () => {
      const number = nextNumber();
      for (let made = 0; made < MOST; made += 1) expect(await candidate.engine.append(await decided(await accept({ number, purpose: 'throttled' })))).toBe(true);
      const phases = async (one: One) => (await state(one)).steps.map(({ phase, reason }) => [phase, reason]);
      expect(await phases(await accept({ number, purpose: 'throttled', at: START + 10 * MINUTE - 1 }))).toEqual([['skipped', 'throttled'], ['started', null]]);
      for (const other of [{ number, purpose: 'throttled', at: START + 10 * MINUTE }, { number }, { purpose: 'throttled' }]) expect((await phases(await accept(other)))[0]).toEqual(['started', null]);
    });
    test('counts an attempt once, however often it is submitted', async () => {
      const number = nextNumber();
      const [first, second, third] = [await accept({ number, purpose: 'throttled' }), await accept({ number, purpose: 'throttled' }), await accept({ number, purpose: 'throttled' })];
      for (const one of [first, second, third]) expect(await candidate.engine.append(await decided(one))).toBe(true);
      await decideAndAppend(candidate.engine, first.eventId, {
        provenance: { actor: 'test', requestId: 'd' }, command: () => ({ kind: 'record_submission', attempt: `${first.eventId}.sms.1`, submission: 1, result: { kind: 'deferred', reason: 'rate_limited', retryAfterMs: 0 } }),
      });
      candidate.setNow(START + 20_000);
      await start(first);
      expect((await state(first)).attempts[0]).toMatchObject({ state: 'submitting', submissions: 2 });
    });
  });
};
