import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Command } from '../../shared/domain/decide.ts';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import type { LedgerPort } from '../../shared/ledger/ledger-port.ts';
import type { Loaded } from '../../shared/ledger/load.ts';
import type { Append } from '../../shared/ledger/rows.ts';

export interface Parts {
  ledger: () => LedgerPort;
  acceptOne: (at?: number) => Promise<string>;
  decided: (eventId: string, command: Command, requestId?: string) => Promise<Append>;
  loaded: (eventId: string) => Promise<Loaded>;
  setNow: (at: number) => void;
}

const BEGIN = Date.UTC(2026, 10, 22, 12);
const refused: SubmitResult = { kind: 'provider_unavailable', reason: 'provider_auth' };
const taken = (eventId: string): SubmitResult => ({ kind: 'accepted', providerMessageId: `M-${eventId}` });
const sms = (eventId: string): string => `${eventId}.sms.1`;

/** What every ledger must do with the state of the providers; the provider is closed before and after. */
export const providerConformance = ({ ledger, acceptOne, decided, loaded, setNow }: Parts): void => {
  // Each test an hour later: a clock that went back would make its refusals older than the last incident.
  let start = BEGIN;
  const later = (): void => { start += 3_600_000; };
  const twilio = async (eventId: string) => (await loaded(eventId)).providers?.twilio;
  const startOf = (eventId: string) => decided(eventId, { kind: 'start_submission', attempt: sms(eventId) });
  const answerOf = (eventId: string, result: SubmitResult, submission = 1) => decided(eventId, { kind: 'record_submission', attempt: sms(eventId), submission, result });
  const appended = async (append: Promise<Append>): Promise<boolean> => ledger().append(await append);
  const several = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let made = 0; made < count; made += 1) ids.push(await acceptOne(start));
    return ids;
  };
  /** Makes that one the probe, and lets it pass. */
  const close = async (eventId: string): Promise<void> => {
    setNow((await twilio(eventId))?.probeAt ?? start);
    expect(await appended(startOf(eventId))).toBe(true);
    expect(await appended(answerOf(eventId, taken(eventId)))).toBe(true);
    expect((await twilio(eventId))?.state).toBe('closed');
    setNow(start);
  };

  describe('with providers', () => {
    beforeEach(later);

    test('of refusals that come at once lets one open the provider, with its entries or not at all', async () => {
      const ids = await several(3);
      for (const id of ids) expect(await appended(startOf(id))).toBe(true);
      const answers = await Promise.all(ids.map((id) => answerOf(id, refused)));
      const won = await Promise.all(answers.map((append) => ledger().append(append)));
      expect(won.filter(Boolean)).toHaveLength(1);
      const states = await Promise.all(ids.map(async (id) => (await loaded(id)).state.attempts[0]?.state));
      expect(states.map((state) => state === 'dead_lettered')).toEqual(won);
      expect(await twilio(ids[0] as string)).toMatchObject({ state: 'open', reason: 'provider_auth', failures: 1 });
      await close(await acceptOne(start));
    });

    test('refuses a start that was decided before its provider refused us, and lets the same be decided again', async () => {
      const [first, second] = await several(2) as [string, string];
      const early = await startOf(second);
      expect(await appended(startOf(first))).toBe(true);
      expect(await appended(answerOf(first, refused))).toBe(true);
      expect(await ledger().append(early)).toBe(false);
      expect((await loaded(second)).state.attempts[0]?.state).toBe('queued');
      expect(await appended(startOf(second))).toBe(true);
      expect((await loaded(second)).state.attempts[0]).toMatchObject({ state: 'cancelled', submissions: 0 });
      await close(await acceptOne(start));
    });

    test('of those that would be the probe lets one', async () => {
      const [first, ...others] = await several(4) as [string, ...string[]];
      expect(await appended(startOf(first))).toBe(true);
      expect(await appended(answerOf(first, refused))).toBe(true);
      setNow((await twilio(first))?.probeAt ?? 0);
      const starts = await Promise.all(others.map((id) => startOf(id)));
      const won = await Promise.all(starts.map((append) => ledger().append(append)));
      expect(won.filter(Boolean)).toHaveLength(1);
      const probe = others[won.indexOf(true)] as string;
      expect((await twilio(probe))?.probe).toMatchObject({ attempt: sms(probe), submission: 1 });
      expect(await appended(answerOf(probe, taken(probe)))).toBe(true);
      expect((await twilio(probe))?.state).toBe('closed');
      setNow(start);
    });

    test('lists what waits once its provider is back, and a few of it while a probe is due', async () => {
      const first = await acceptOne(start);
      expect(await appended(startOf(first))).toBe(true);
      expect(await appended(answerOf(first, refused))).toBe(true);
      const probeAt = (await twilio(first))?.probeAt ?? 0;
      // The row alone is what is listed by: an email has no later step to go to, and would wait.
      const waiting: string[] = [];
      for (const id of await several(5)) {
        const append = await decided(id, { kind: 'start_submission', attempt: sms(id) });
        expect(await ledger().append({ ...append, rows: { ...append.rows, planned: append.rows.planned.map((row) => (row['attempt_key'] === `${id}.email.1` ? { ...row, provider: 'twilio', provider_wait_at: start } : row)) } })).toBe(true);
        waiting.push(id);
      }
      const listed = async (at: number): Promise<string[]> => (await ledger().loadWaiting(at, 500)).map((one) => one.eventId).sort();
      expect(await listed(probeAt - 1)).toEqual([]);
      const few = await listed(probeAt);
      expect([few.length, few.every((id) => waiting.includes(id))]).toEqual([3, true]);
      await close(await acceptOne(start));
      expect(await listed(start)).toEqual([...waiting].sort());
    });
  });
};
