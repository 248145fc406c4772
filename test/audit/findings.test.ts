import { describe, expect, test } from '@jest/globals';
import type { NotificationState } from '../../shared/domain/state.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { Evidence } from './findings.ts';
import { claimedTwice, foldErrors, hasEnded, misreported, pendingPastExpiry, sentTwice, startedLate } from './findings.ts';
import type { LedgerEntry } from './ledger-reader.ts';
import type { ProviderReceipt } from './sandbox-log.ts';

const EVENT = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const KEY = `${EVENT}.sms.1`;
const received = (over: Partial<ProviderReceipt> = {}): ProviderReceipt => ({ kind: 'accepted', channel: 'sms', attemptKey: KEY, receivedAt: 1_000, contentSha256: 'a', behaviour: 'accept', ...over });
const entry = (version: number, transition: LedgerEntry['stamped']['transition'], at = version * 100): LedgerEntry => ({
  eventId: EVENT, version, kind: transition.kind, at, actor: 'test', attemptKey: 'attempt' in transition.details ? transition.details.attempt : null, stamped: { at, transition },
});
const started = (version: number, at?: number): LedgerEntry => entry(version, { kind: 'SubmissionStarted', details: { attempt: KEY, submission: 1, outcome_due_at: 5_000 } }, at);
const claimed = (version: number): LedgerEntry => entry(version, { kind: 'FallbackClaimed', details: { from_step: 0, to_step: 1, channel: 'email', cause: 'deadline', rests_on: null } });
const closed = (version: number): LedgerEntry => entry(version, { kind: 'NotificationClosed', details: { reason: 'taken', in_flight: false } });
const evidence = (over: { entries?: LedgerEntry[]; provider?: ProviderReceipt[]; state?: Partial<NotificationState>; attempt?: string; closedAt?: number }): Evidence => ({
  notification: { eventId: EVENT, expiresAt: 10_000, status: 'sent', version: 3, state: { ...emptyState(EVENT), ...over.state }, entries: over.entries ?? [] },
  attempts: over.attempt === undefined ? [] : [{ attemptKey: KEY, eventId: EVENT, channel: 'sms', state: over.attempt, decisionDeadlineAt: 3_000 }],
  provider: over.provider ?? [], closedAt: over.closedAt ?? null,
});
const kinds = (findings: readonly { kind: string }[]): string[] => findings.map((finding) => finding.kind);

describe('The auditor', () => {
  test('finds a second accepted message of one event and channel, under the same key and under another one', () => {
    expect(kinds(sentTwice(evidence({ provider: [received(), received()] })))).toEqual(['twice', 'twice']);
    expect(kinds(sentTwice(evidence({ provider: [received(), received({ attemptKey: `${EVENT}.sms.2` })] })))).toEqual(['twice']);
    expect(sentTwice(evidence({ provider: [received(), received({ kind: 'refused' }), received({ channel: 'email', attemptKey: `${EVENT}.email.1` })] }))).toEqual([]);
  });

  test('finds a retry whose content differs', () => {
    expect(kinds(sentTwice(evidence({ provider: [received({ kind: 'refused', contentSha256: 'b' }), received()] })))).toEqual(['twice']);
  });

  test('finds a step that was claimed twice', () => {
    expect(kinds(claimedTwice(evidence({ entries: [claimed(1), claimed(2)] })))).toEqual(['claimed_twice']);
    expect(claimedTwice(evidence({ entries: [claimed(1)] }))).toEqual([]);
  });

  test('finds a submission that started after the expiry, after the close, or reached the provider after it', () => {
    expect(kinds(startedLate(evidence({ entries: [started(1, 10_000)] })))).toEqual(['started_late']);
    expect(kinds(startedLate(evidence({ entries: [closed(1), started(2)] })))).toEqual(['started_late']);
    expect(kinds(startedLate(evidence({ provider: [received({ receivedAt: 2_001 })], closedAt: 2_000 })))).toEqual(['started_late']);
    const unknown = entry(2, { kind: 'SubmissionOutcomeUnknown', details: { attempt: KEY, submission: 1, reason: 'request_timeout', next_poll_at: null } });
    expect(startedLate(evidence({ entries: [started(1), unknown, closed(3)], provider: [received({ receivedAt: 2_001 })], closedAt: 2_000 }))).toEqual([]);
    expect(startedLate(evidence({ entries: [started(1), closed(2)], provider: [received({ receivedAt: 1_999 })], closedAt: 2_000 }))).toEqual([]);
  });

  test('finds a step that still waits past the expiry, and not before', () => {
    const waiting = evidence({ state: { steps: [{ channel: 'email', phase: 'waiting', reason: null }] } });
    expect(kinds(pendingPastExpiry(waiting, 15_000, 5_000))).toEqual(['pending_past_expiry']);
    expect(pendingPastExpiry(waiting, 14_999, 5_000)).toEqual([]);
  });

  test('finds a ledger that tells another story than the provider', () => {
    expect(kinds(misreported(evidence({ attempt: 'cancelled', entries: [started(1)], provider: [received()] })))).toEqual(['misreported']);
    expect(kinds(misreported(evidence({ attempt: 'submitted', entries: [started(1)] })))).toEqual(['misreported']);
    expect(kinds(misreported(evidence({ attempt: 'submitted', provider: [received()] })))).toEqual(['misreported']);
    expect(misreported(evidence({ attempt: 'submitted_unknown', entries: [started(1)], provider: [received()] }))).toEqual([]);
  });

  test('believes a provider that took a message and refused it later, and no refusal at once of what was taken', () => {
    const refused = (source: 'submit' | 'poll'): LedgerEntry => entry(2, { kind: 'AttemptSuppressed', details: { attempt: KEY, source, reason: 'opted_out' } });
    expect(misreported(evidence({ attempt: 'suppressed', entries: [started(1), refused('poll')], provider: [received()] }))).toEqual([]);
    expect(kinds(misreported(evidence({ attempt: 'suppressed', entries: [started(1), refused('submit')], provider: [received()] })))).toEqual(['misreported']);
  });

  test('finds a state that is not the fold of its entries', () => {
    expect(kinds(foldErrors(evidence({ entries: [closed(1)] })))).toEqual(['fold']);
    expect(foldErrors(evidence({ entries: [closed(1)], state: { version: 1, closed: { reason: 'taken', at: 100 } } }))).toEqual([]);
  });

  test('calls nothing ended while its status is open', () => {
    const { notification } = evidence({});
    expect(hasEnded(notification)).toBe(true);
    expect(hasEnded({ ...notification, status: 'in_progress' })).toBe(false);
  });
});
