import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { inputFor } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import { decide } from '../../shared/domain/decide.ts';
import type { Command } from '../../shared/domain/decide.ts';
import type { OutboxRow } from '../../shared/ledger/claims.ts';
import type { Append } from '../../shared/ledger/rows.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import type { NewSuppression } from '../../shared/ledger/suppressions.ts';
import { providerConformance } from './provider-conformance.ts';
import { urgentRequest } from '../support/test-engine.ts';

/** A ledger under test, empty at first, with its clock in the hand of the suite. */
export interface Candidate { engine: Engine; setNow: (at: number) => void; close: () => Promise<void> }

const START = Date.UTC(2026, 10, 20, 12);
const sms = (eventId: string): string => `${eventId}.sms.1`;

/** What every ledger must do, whatever it is kept in: run against Postgres, and against the twin that the simulation uses. */
export const appendConformance = (name: string, open: () => Promise<Candidate>): void => {
  describe(`the ledger ${name}`, () => {
    let candidate: Candidate;
    beforeAll(async () => { candidate = await open(); });
    afterAll(async () => { await candidate.close(); });

    const ledger = () => candidate.engine.ledger;
    const acceptOne = async (at = START): Promise<string> => {
      candidate.setNow(at);
      const outcome = await acceptNotification(candidate.engine, urgentRequest());
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
      return outcome.eventId;
    };
    const loaded = async (eventId: string) => {
      const found = await ledger().load(eventId);
      if (!found) throw new Error('not loaded');
      return found;
    };
    const decided = async (eventId: string, command: Command, requestId = 'r'): Promise<Append> => {
      const before = await loaded(eventId);
      const bound = await candidate.engine.versions.bind(before.state.purpose, before.state.policyVersion);
      const decision = decide(command, before.state, inputFor(candidate.engine, before, bound));
      return toAppend(decision, { before: before.state, prevHash: before.headHash, provenance: { actor: 'test', requestId }, senders: candidate.engine.senderPrints });
    };
    const startOf = (eventId: string, requestId?: string): Promise<Append> => decided(eventId, { kind: 'start_submission', attempt: sms(eventId) }, requestId);
    const submitted = async (eventId: string, providerMessageId = `M-${eventId}`): Promise<void> => {
      expect(await ledger().append(await startOf(eventId))).toBe(true);
      expect(await ledger().append(await decided(eventId, { kind: 'record_submission', attempt: sms(eventId), submission: 1, result: { kind: 'accepted', providerMessageId } }))).toBe(true);
    };
    /** An append that only a mistake could make; refused, it must leave everything as it was. */
    const refused = async (eventId: string, forge: (append: Append) => Append, why: RegExp): Promise<void> => {
      const before = await loaded(eventId);
      await expect(ledger().append(forge(await startOf(eventId)))).rejects.toThrow(why);
      expect(await loaded(eventId)).toEqual(before);
      expect(await ledger().append(await startOf(eventId))).toBe(true);
    };
    const withAttempt = (append: Append, change: Record<string, unknown>): Append => ({
      ...append, rows: {
        ...append.rows, planned: [...append.rows.planned, {
          ...append.rows.changed[0], step: 0, origin: 'policy', channel: 'sms', sequence: 1, provider: 'twilio', policy_version: 1, template: 'another', template_version: 1,
          decision_deadline_at: START, planned_at: START, ...change,
        }],
      },
    });
    const withEntry = (append: Append, change: Record<string, unknown>): Append => ({
      ...append, rows: { ...append.rows, entries: append.rows.entries.map((entry) => ({ ...entry, ...change })) },
    });

    test('accepts once under a key, and tells what stands there to whoever comes again', async () => {
      candidate.setNow(START);
      const request = urgentRequest();
      const first = await acceptNotification(candidate.engine, request);
      const again = await acceptNotification(candidate.engine, request);
      const other = await acceptNotification(candidate.engine, { ...request, fingerprintOf: { another: true } });
      const { eventId } = first as { eventId: string };
      expect([again, other]).toEqual([{ kind: 'replayed', eventId }, { kind: 'conflict', eventId }]);
      expect(await ledger().findByIdempotencyKey('default', request.idempotencyKey)).toMatchObject({ eventId });
      expect(await ledger().findByIdempotencyKey('another', request.idempotencyKey)).toBeNull();
      expect([await ledger().tenantOf(eventId), await ledger().tenantOf('evt_none')]).toEqual(['default', null]);
    });

    test('of appends decided on one version lets one win, in whatever order they come', async () => {
      const eventId = await acceptOne();
      const rivals = [await startOf(eventId, 'one'), await startOf(eventId, 'two'), await startOf(eventId, 'three')];
      const won = await Promise.all(rivals.map((append) => ledger().append(append)));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await loaded(eventId)).state.version).toBe((rivals[0] as Append).version);
    });

    let people = 0;
    /** A recipient whom no other test knows. */
    const stranger = (): AcceptRequest => {
      people += 1;
      const request = urgentRequest();
      return { ...request, recipient: { ...request.recipient, sms: `+1202556${String(1_000 + people)}`, email: `stranger-${people}@example.com` } };
    };
    const acceptStranger = async (request = stranger()): Promise<{ eventId: string; request: AcceptRequest }> => {
      candidate.setNow(START);
      const outcome = await acceptNotification(candidate.engine, request);
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
      return { eventId: outcome.eventId, request };
    };
    const suppress = (request: AcceptRequest, over: Partial<NewSuppression> = {}): Promise<boolean> => ledger().suppress({
      tenant: 'default', channel: 'sms', addressPrint: addressPrint(candidate.engine.ring, 'sms', request.recipient.sms ?? ''), senderPrint: null, reason: 'requested',
      source: 'hand', at: START, actor: 'test', ...over,
    });
    const ours = (): Buffer => Buffer.from(candidate.engine.senderPrints.sms ?? '', 'hex');

    test('lets an append that starts a submission lose where its destination was suppressed since it was decided on', async () => {
      const { eventId, request } = await acceptStranger();
      const start = await startOf(eventId);
      expect(await suppress(request)).toBe(true);
      expect(await ledger().append(start)).toBe(false);
      expect(await ledger().append(await startOf(eventId))).toBe(true);
      const { state } = await loaded(eventId);
      expect(state.attempts.map((attempt) => [attempt.channel, attempt.state, attempt.submissions])).toEqual([['sms', 'suppressed', 0], ['email', 'queued', 0]]);
    });

    test.each([
      ['for the other channel', (request: AcceptRequest) => ({ channel: 'email' as const, addressPrint: addressPrint(candidate.engine.ring, 'email', request.recipient.email ?? '') })],
      ['for another sender', () => ({ senderPrint: Buffer.from('another') })],
      ['for another tenant', () => ({ tenant: 'another' })],
      ['for another person', () => ({ addressPrint: addressPrint(candidate.engine.ring, 'sms', '+12025560999') })],
    ])('starts a submission where a suppression is %s', async (_, over) => {
      const { eventId, request } = await acceptStranger();
      const start = await startOf(eventId);
      await suppress(request, over(request));
      expect(await ledger().append(start)).toBe(true);
    });

    test('bars by a suppression for our sender, and lets every other append go on', async () => {
      const { eventId, request } = await acceptStranger();
      const [start, close] = [await startOf(eventId), await decided(eventId, { kind: 'close', reason: 'taken' })];
      await suppress(request, { senderPrint: ours() });
      expect([await ledger().append(start), await ledger().append(close)]).toEqual([false, true]);
    });

    test('suppresses a destination once per sender, and tells it with every load', async () => {
      const { eventId, request } = await acceptStranger();
      expect((await loaded(eventId)).suppressed).toEqual([]);
      expect([await suppress(request), await suppress(request), await suppress(request, { senderPrint: ours() })]).toEqual([true, false, true]);
      expect([...(await loaded(eventId)).suppressed].sort()).toEqual(['sms:', `sms:${ours().toString('hex')}`]);
      const due = (await ledger().loadDueDecisions(START + 3_600_000, 500)).find((one) => one.eventId === eventId);
      expect(due?.suppressed).toHaveLength(2);
    });

    test('accepts for a suppressed recipient with that step skipped, and the other one started', async () => {
      const request = stranger();
      await suppress(request);
      const { eventId } = await acceptStranger(request);
      const { state } = await loaded(eventId);
      expect(state.steps.map(({ phase, reason }) => [phase, reason])).toEqual([['skipped', 'suppressed'], ['started', null]]);
      expect(state.attempts.map(({ channel }) => channel)).toEqual(['email']);
      expect(await acceptNotification(candidate.engine, request)).toEqual({ kind: 'replayed', eventId });
    });

    test('writes a provider\'s opt-out with its transition, for that recipient and our sender, and not without it', async () => {
      const { eventId, request } = await acceptStranger();
      expect(await ledger().append(await startOf(eventId))).toBe(true);
      const optOut = (requestId: string) => decided(eventId, { kind: 'record_submission', attempt: sms(eventId), submission: 1, result: { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out' } }, requestId);
      const stale = await optOut('stale');
      expect(await ledger().append(await decided(eventId, { kind: 'pause', reason: 'checked' }))).toBe(true);
      expect(await ledger().append(stale)).toBe(false);
      expect((await loaded(eventId)).suppressed).toEqual([]);
      expect(await ledger().append(await optOut('fresh'))).toBe(true);
      expect((await loaded(eventId)).suppressed).toEqual([`sms:${ours().toString('hex')}`]);
      expect(await suppress(request, { senderPrint: ours(), source: 'provider' })).toBe(false);
    });

    test('refuses a second live attempt of a channel', async () => {
      const eventId = await acceptOne();
      await refused(eventId, (append) => withAttempt(append, { attempt_key: `${eventId}.sms.2`, sequence: 2, step: 7, state: 'queued' }), /attempt_one_live/);
    });

    test('refuses a step planned twice by policy', async () => {
      const eventId = await acceptOne();
      await refused(eventId, (append) => withAttempt(append, { attempt_key: `${eventId}.email.1`, channel: 'email', step: 0, state: 'queued' }), /attempt_step_once/);
    });

    test('refuses one provider message for two attempts', async () => {
      const [first, second] = [await acceptOne(), await acceptOne()];
      await submitted(first, 'M-the-same');
      expect(await ledger().append(await startOf(second))).toBe(true);
      const stolen = await decided(second, { kind: 'record_submission', attempt: sms(second), submission: 1, result: { kind: 'accepted', providerMessageId: 'M-the-same' } });
      await expect(ledger().append(stolen)).rejects.toThrow(/attempt_provider_message/);
    });

    test('refuses an entry that skips a version', async () => {
      const eventId = await acceptOne();
      await refused(eventId, (append) => withEntry(append, { version: append.version + 4 }), /chain/);
    });

    test('refuses an entry whose hash does not cover its text', async () => {
      const eventId = await acceptOne();
      await refused(eventId, (append) => withEntry(append, { body: '{}' }), /check/);
    });

    test('refuses an entry that chains to another than the one before', async () => {
      const [eventId, other] = [await acceptOne(), await acceptOne()];
      const foreign = await startOf(other);
      await refused(eventId, (append) => withEntry(append, { body: foreign.rows.entries[0]?.['body'], prev_hash: foreign.rows.entries[0]?.['prev_hash'], hash: foreign.rows.entries[0]?.['hash'] }), /chain/);
    });

    test('destroys the boxes that an entry names with that entry, and none where the append loses', async () => {
      const eventId = await acceptOne();
      const close = await decided(eventId, { kind: 'close', reason: 'taken' });
      expect(await ledger().append(await startOf(eventId))).toBe(true);
      expect(await ledger().append(close)).toBe(false);
      const before = await loaded(eventId);
      expect([before.secrets, before.variables, before.recipient]).not.toContain(null);
      expect(await ledger().append(await decided(eventId, { kind: 'close', reason: 'taken' }))).toBe(true);
      const after = await loaded(eventId);
      expect(after.secrets).toBeNull();
      expect(after.state.payload?.destroyed).toEqual({ secrets: START });
      expect([after.variables, after.recipient]).toEqual([before.variables, before.recipient]);
    });

    test('keeps no box of a part that the very first append destroys', async () => {
      candidate.setNow(START);
      const request = urgentRequest();
      const outcome = await acceptNotification(candidate.engine, { ...request, recipient: { ...request.recipient, region: 'ZZ' } });
      const after = await loaded((outcome as { eventId: string }).eventId);
      expect(Object.keys(after.state.payload?.destroyed ?? {})).toEqual(['secrets', 'addresses']);
      expect([after.secrets, after.recipient]).toEqual([null, null]);
      expect(after.variables).not.toBeNull();
    });

    test('lists what is due by then, the longest overdue first, and tells the next instant', async () => {
      const later = START + 3_600_000;
      const first = await acceptOne(later);
      const second = await acceptOne(later + 200);
      const requeueAt = (await loaded(first)).state.attempts[0]?.requeueAt as number;
      const dueOf = async (at: number): Promise<string[]> => (await ledger().loadDueDecisions(at, 500)).map((one) => one.eventId).filter((id) => id === first || id === second);
      expect(await dueOf(requeueAt - 1)).toEqual([]);
      expect(await dueOf(requeueAt)).toEqual([first]);
      expect(await dueOf(requeueAt + 200)).toEqual([first, second]);
      expect(await ledger().nextDueAt(later)).toBeLessThanOrEqual(requeueAt);
    });

    test('hands out a poll once until its lease ends, and again once an append sets the next one', async () => {
      const eventId = await acceptOne(START + 7_200_000);
      await submitted(eventId);
      const pollAt = (await loaded(eventId)).state.attempts[0]?.nextPollAt as number;
      const lease = async (now: number): Promise<string[]> =>
        (await ledger().leaseDuePolls({ now, leaseUntil: now + 20_000, limit: 500 })).map((claim) => claim.attemptKey).filter((key) => key === sms(eventId));
      expect(await lease(pollAt - 1)).toEqual([]);
      expect(await lease(pollAt)).toEqual([sms(eventId)]);
      expect(await lease(pollAt + 19_999)).toEqual([]);
      expect(await lease(pollAt + 20_000)).toEqual([sms(eventId)]);
      candidate.setNow(pollAt + 20_500);
      // What comes of itself meanwhile, by mail, leaves the next poll where it was, and the poll under way to whoever makes it.
      const mailed: Command = { kind: 'record_status', attempt: sms(eventId), source: 'mailbox', reading: { kind: 'observed', outcome: 'accepted', reason: null } };
      expect(await ledger().append(await decided(eventId, mailed))).toBe(true);
      expect((await loaded(eventId)).state.attempts[0]?.nextPollAt).toBe(pollAt);
      expect(await lease(pollAt + 21_000)).toEqual([]);
      await ledger().append(await decided(eventId, { kind: 'record_status', attempt: sms(eventId), reading: { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null } }));
      const next = (await loaded(eventId)).state.attempts[0]?.nextPollAt as number;
      expect(await lease(next)).toEqual([sms(eventId)]);
    });

    test('gives outbox rows back when they could not be enqueued, and each to one mover only', async () => {
      await ledger().moveOutbox(500, () => Promise.resolve());
      const eventId = await acceptOne();
      const seen: OutboxRow[] = [];
      const take = (rows: OutboxRow[]): Promise<void> => { seen.push(...rows); return Promise.resolve(); };
      await expect(ledger().moveOutbox(500, () => Promise.reject(new Error('the queue is away')))).rejects.toThrow('the queue is away');
      let beside = -1;
      // While one mover holds the rows, another finds none.
      const moved = await ledger().moveOutbox(500, async (rows) => {
        await take(rows);
        beside = await ledger().moveOutbox(500, take);
      });
      expect([moved, beside]).toEqual([1, 0]);
      expect(seen.map(({ attemptKey, generation }) => [attemptKey, generation])).toEqual([[sms(eventId), 1]]);
      expect(await ledger().moveOutbox(500, take)).toBe(0);
    });

    test('tells the oldest due decision, and looks at a postponed one later', async () => {
      const { decisionAt } = await ledger().readPulse('sweep');
      if (decisionAt === null) throw new Error('nothing is due');
      const due = (await ledger().loadDueDecisions(decisionAt, 500)).map((one) => one.eventId);
      expect(due.length).toBeGreaterThan(0);
      await ledger().postponeDecisions(due, decisionAt + 30_000);
      expect((await ledger().loadDueDecisions(decisionAt, 500)).filter((one) => due.includes(one.eventId))).toEqual([]);
    });

    providerConformance({ ledger, acceptOne, decided, loaded, setNow: (at) => candidate.setNow(at) });

    test('keeps the latest beat of a duty', async () => {
      expect((await ledger().readPulse('never')).beatAt).toBeNull();
      await ledger().beat('sweep', START + 500);
      await ledger().beat('sweep', START);
      expect((await ledger().readPulse('sweep')).beatAt).toBe(START + 500);
    });
  });
};
