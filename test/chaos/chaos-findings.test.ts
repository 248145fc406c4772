import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { emptyState } from '../../shared/domain/state.ts';
import type { LedgerEntry, LedgerReading } from '../audit/ledger-reader.ts';
import type { ProviderReceipt } from '../audit/sandbox-log.ts';
import { diedSubmitting, loggedFaults, receivedWhilePaused, startedWhilePaused, wronged } from './chaos-findings.ts';
import type { Death } from './supervisor.ts';

const EVENT = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const KEY = `${EVENT}.sms.1`;
const entry = (version: number, transition: LedgerEntry['stamped']['transition'], actor = 'test'): LedgerEntry => ({
  eventId: EVENT, version, kind: transition.kind, at: version * 100, actor, attemptKey: 'attempt' in transition.details ? transition.details.attempt : null,
  stamped: { at: version * 100, transition },
});
const started = (version: number, actor?: string): LedgerEntry => entry(version, { kind: 'SubmissionStarted', details: { attempt: KEY, submission: 1, outcome_due_at: 5_000 } }, actor);
const answered = (version: number): LedgerEntry => entry(version, { kind: 'SubmissionOutcomeUnknown', details: { attempt: KEY, submission: 1, reason: 'worker_lost', next_poll_at: null } });
const paused = (version: number): LedgerEntry => entry(version, { kind: 'NotificationPaused', details: { reason: 'maintenance', in_flight: false } });
const resumed = (version: number): LedgerEntry => entry(version, { kind: 'NotificationResumed', details: { reason: 'maintenance' } });
const ledger = (...entries: LedgerEntry[]): LedgerReading => ({
  notifications: [{ eventId: EVENT, expiresAt: 10_000, status: 'sent', version: entries.length, state: emptyState(EVENT), entries }], attempts: [], chainErrors: [], outboxRows: 0, now: 0,
});
const received = (receivedAt: number): ProviderReceipt => ({ kind: 'accepted', channel: 'sms', attemptKey: KEY, receivedAt, contentSha256: 'a', behaviour: 'accept' });

describe('The audit of a chaos run', () => {
  it('finds a submission that was started while paused, and none before or after', () => {
    expect(startedWhilePaused(ledger(paused(1), started(2)))).toMatchObject([{ kind: 'started_paused' }]);
    expect(startedWhilePaused(ledger(started(1), paused(2), resumed(3), started(4)))).toEqual([]);
  });

  it('finds a message that arrived while paused with nothing in flight', () => {
    const held = { kind: 'paused' as const, eventId: EVENT, inFlight: false, at: 1_000 };
    const letGo = { kind: 'resuming' as const, eventId: EVENT, at: 2_000 };
    expect(receivedWhilePaused([held], [received(1_500)], ledger())).toMatchObject([{ kind: 'started_paused', eventId: EVENT }]);
    expect(receivedWhilePaused([held, letGo], [received(2_500)], ledger())).toEqual([]);
    expect(receivedWhilePaused([{ ...held, inFlight: true }], [received(1_500)], ledger())).toEqual([]);
    expect(receivedWhilePaused([held], [received(1_500)], ledger(started(1), answered(2)))).toEqual([]);
  });

  it('counts a kill as one in the middle of a submission only where the killed process had started it and nothing was said of it before', () => {
    const death: Death = { service: 'sms', pid: 7, startedAt: 0, diedAt: 150, point: null };
    expect(diedSubmitting([death], ledger(started(1, 'delivery-sms-7'), answered(2)))).toEqual({ kills: 1, attempts: 1 });
    expect(diedSubmitting([{ ...death, diedAt: 250 }], ledger(started(1, 'delivery-sms-7'), answered(2)))).toEqual({ kills: 0, attempts: 0 });
    expect(diedSubmitting([death], ledger(started(1, 'delivery-sms-8'), answered(2)))).toEqual({ kills: 0, attempts: 0 });
  });

  it('finds in the logs errors, jobs that failed for a reason of their own, and constraints that were run into', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tocsin-logs-'));
    try {
      const path = join(folder, 'sms.log');
      const lines = [
        { level: 30, event: 'decided' }, { level: 40, event: 'database.away', where: 'handler sms' }, { level: 40, event: 'job.failed', where: 'handler maintenance', error: 'QueueAway' },
        { level: 40, event: 'job.failed', where: 'handler sms', error: 'error', code: '23505' }, { level: 50, event: 'decision.failed', error: 'TypeError', event_id: EVENT },
      ];
      await writeFile(path, `--- sms.1 pid 7\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"level":50,"ev`);
      expect(await loggedFaults([path])).toEqual([
        { kind: 'constraint', eventId: null, detail: 'job.failed handler sms error 23505' }, { kind: 'failed', eventId: EVENT, detail: 'decision.failed TypeError' },
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('finds what a client was told that it should never be', () => {
    expect(wronged([{ kind: 'wronged', path: '/notifications', httpStatus: 500, code: 'internal_error', at: 1 }])).toMatchObject([{ kind: 'wronged' }]);
  });
});
