import { readFile } from 'node:fs/promises';
import type { Finding } from '../audit/findings.ts';
import { wasUnknownBy } from '../audit/findings.ts';
import type { LedgerEntry, LedgerReading } from '../audit/ledger-reader.ts';
import { partsOf } from '../audit/sandbox-log.ts';
import type { ProviderReceipt } from '../audit/sandbox-log.ts';
import type { NoticeLine } from './notice-client.ts';
import type { Death } from './supervisor.ts';

/** What chaos looks for beyond the other audits; `docs/audits.md` says what each means. */
export const CHAOS_KINDS = ['started_paused', 'constraint', 'failed', 'wronged', 'collapsed', 'verify'] as const;
export interface ChaosFinding { kind: Finding['kind'] | (typeof CHAOS_KINDS)[number]; eventId: string | null; detail: string }

const groupEntries = (ledger: LedgerReading): LedgerEntry[][] => ledger.notifications.map(({ entries }) => entries);

/** A submission that was started between a pause and its resume, by the ledger's own order. */
export const startedWhilePaused = (ledger: LedgerReading): ChaosFinding[] => groupEntries(ledger).flatMap((entries) => {
  let paused = false;
  return entries.flatMap(({ kind, eventId, version }): ChaosFinding[] => {
    if (kind === 'NotificationPaused') paused = true;
    if (kind === 'NotificationResumed' || kind === 'NotificationClosed') paused = false;
    return paused && kind === 'SubmissionStarted' ? [{ kind: 'started_paused', eventId, detail: `v${version} started while paused` }] : [];
  });
});

/** A message that reached the provider after a pause with nothing in flight, and before the client asked to resume. */
export const receivedWhilePaused = (lines: readonly NoticeLine[], provider: readonly ProviderReceipt[], ledger: LedgerReading): ChaosFinding[] => {
  const entries = new Map(ledger.notifications.map((notification) => [notification.eventId, notification.entries]));
  const resumes = new Map(lines.flatMap((line) => (line.kind === 'resuming' ? [[line.eventId, line.at] as const] : [])));
  const pauses = new Map(lines.flatMap((line) => (line.kind === 'paused' && !line.inFlight ? [[line.eventId, line.at] as const] : [])));
  return provider.flatMap((receipt): ChaosFinding[] => {
    const eventId = partsOf(receipt.attemptKey)?.eventId ?? '';
    const from = pauses.get(eventId);
    if (from === undefined || receipt.receivedAt <= from || receipt.receivedAt >= (resumes.get(eventId) ?? Infinity)) return [];
    if (wasUnknownBy(entries.get(eventId) ?? [], receipt.attemptKey, from)) return [];
    return [{ kind: 'started_paused', eventId, detail: `${receipt.channel} reached the provider while paused with nothing in flight` }];
  });
};

/** Kills that found attempts in `submitting`, and those attempts: started by the killed process, and the ledger's next word on them came later. */
export const diedSubmitting = (deaths: readonly Death[], ledger: LedgerReading): { kills: number; attempts: number } => {
  const byActor = new Map<string, { at: number; nextAt: number }[]>();
  for (const entries of groupEntries(ledger)) {
    entries.forEach((entry, index) => {
      if (entry.kind !== 'SubmissionStarted') return;
      const next = entries.slice(index + 1).find((later) => later.attemptKey === entry.attemptKey);
      byActor.set(entry.actor, [...(byActor.get(entry.actor) ?? []), { at: entry.at, nextAt: next?.at ?? Infinity }]);
    });
  }
  const hit = deaths.map(({ service, pid, startedAt, diedAt }) =>
    (byActor.get(`delivery-${service}-${pid}`) ?? []).filter(({ at, nextAt }) => at >= startedAt && at <= diedAt && nextAt > diedAt).length);
  return { kills: hit.filter((many) => many > 0).length, attempts: hit.reduce((sum, many) => sum + many, 0) };
};

interface LogLine { level?: number; event?: string; error?: string; code?: string; where?: string; event_id?: string }
const parsed = (line: string): LogLine | null => {
  try {
    return line.startsWith('{') ? JSON.parse(line) as LogLine : null;
  } catch {
    // Torn by the kill of its writer.
    return null;
  }
};

const ERROR_LEVEL = 50;
/** SQLSTATE class 23 is a broken constraint; 42501 is what the append-only triggers answer. */
const isConstraint = (code: string | undefined): boolean => code !== undefined && (/^23/.test(code) || code === '42501');

const findingOf = (line: LogLine): ChaosFinding | null => {
  const failedJob = line.event === 'job.failed' && line.error !== 'QueueAway';
  if ((line.level ?? 0) < ERROR_LEVEL && !failedJob) return null;
  const detail = [line.event, line.where, line.error, line.code].filter((part) => part !== undefined).join(' ');
  return { kind: isConstraint(line.code) ? 'constraint' : 'failed', eventId: line.event_id ?? null, detail };
};

/** What the services themselves called an error, and jobs that failed for a reason of their own. */
export const loggedFaults = async (logPaths: readonly string[]): Promise<ChaosFinding[]> => {
  const texts = await Promise.all(logPaths.map((path) => readFile(path, 'utf8').catch(() => '')));
  return texts.flatMap((text) => text.split('\n').flatMap((line) => {
    const told = parsed(line);
    const finding = told && findingOf(told);
    return finding ? [finding] : [];
  }));
};

/** What clients were told that they should never be. */
export const wronged = (lines: readonly NoticeLine[]): ChaosFinding[] => lines.flatMap((line): ChaosFinding[] =>
  (line.kind === 'wronged' ? [{ kind: 'wronged', eventId: null, detail: `${line.path} answered ${line.httpStatus} ${line.code}` }] : []));
