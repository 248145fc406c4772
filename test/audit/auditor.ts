import { readReceipts } from './ticket-client.ts';
import type { ReceiptLine } from './ticket-client.ts';
import { partsOf, readSandboxLog } from './sandbox-log.ts';
import type { ProviderReceipt } from './sandbox-log.ts';
import { readLedger } from './ledger-reader.ts';
import type { LedgerReading } from './ledger-reader.ts';
import type { Evidence, Finding } from './findings.ts';
import { claimedTwice, foldErrors, hasEnded, misreported, pendingPastExpiry, sentTwice, startedLate } from './findings.ts';

export interface AuditSources {
  receiptsPath: string;
  sandboxLogPath: string;
  databaseUrl: string;
  /** Only tickets of these phases belong to this ledger; all where absent. */
  phases?: readonly string[];
}

export interface PhaseCount { phase: string; accepted: number; ended: number; settled: number; sms: number; email: number; unreached: number; statuses: Record<string, number> }
export interface AuditResult {
  phases: PhaseCount[];
  findings: Finding[];
  /** Phase of each event, for the report. */
  phaseOf: Map<string, string>;
  /** How late, in ms, the fallbacks that a deadline caused were claimed: the worst, and how many there were. */
  deadlineClaims: { count: number; worstLateMs: number };
  /** The longest time, in ms, from the planning of an attempt to its first submission. */
  slowestStartMs: number;
  ledger: LedgerReading;
}

/** Past its expiry a notification may wait this long for the sweep that ends it. */
const EXPIRY_SLACK_MS = 5_000;

interface ClientView { phaseOf: Map<string, string>; findings: Finding[]; closedAt: Map<string, number> }

/** What the client knows: which events it has receipts for. A key without one was lost, a key with two was split. */
const readClient = (lines: readonly ReceiptLine[], phases: readonly string[] | undefined): ClientView => {
  const findings: Finding[] = [];
  const phaseOf = new Map<string, string>();
  const closedAt = new Map<string, number>();
  const receipts = lines.filter((line) => line.kind === 'receipt');
  for (const meant of lines) {
    if (meant.kind !== 'meant' || (phases && !phases.includes(meant.phase))) continue;
    const events = [...new Set(receipts.filter((receipt) => receipt.key === meant.key).map((receipt) => receipt.eventId))];
    if (events.length === 0) findings.push({ kind: 'lost', eventId: null, detail: `ticket ${meant.key} never got a receipt` });
    if (events.length > 1) findings.push({ kind: 'split', eventId: events[0] as string, detail: `ticket ${meant.key} became ${events.length} notifications` });
    for (const eventId of events) phaseOf.set(eventId, meant.phase);
  }
  for (const line of lines) if (line.kind === 'closed' && !line.inFlight) closedAt.set(line.eventId, line.at);
  return { phaseOf, findings, closedAt };
};

const groupBy = <Value>(values: readonly Value[], keyOf: (value: Value) => string | undefined): Map<string, Value[]> => {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), value]);
  }
  return groups;
};

const evidenceOf = (client: ClientView, provider: readonly ProviderReceipt[], ledger: LedgerReading): Evidence[] => {
  const received = groupBy(provider, (receipt) => partsOf(receipt.attemptKey)?.eventId);
  const attempts = groupBy(ledger.attempts, (attempt) => attempt.eventId);
  return ledger.notifications.map((notification) => ({
    notification, attempts: attempts.get(notification.eventId) ?? [], provider: received.get(notification.eventId) ?? [], closedAt: client.closedAt.get(notification.eventId) ?? null,
  }));
};

const countPhases = (client: ClientView, evidence: readonly Evidence[]): PhaseCount[] => {
  const phases = new Map<string, PhaseCount>();
  for (const phase of client.phaseOf.values()) {
    const count = phases.get(phase) ?? { phase, accepted: 0, ended: 0, settled: 0, sms: 0, email: 0, unreached: 0, statuses: {} };
    count.accepted += 1;
    phases.set(phase, count);
  }
  for (const { notification, provider } of evidence) {
    const count = phases.get(client.phaseOf.get(notification.eventId) ?? '');
    if (!count) continue;
    const accepted = provider.filter((receipt) => receipt.kind === 'accepted');
    count.ended += hasEnded(notification) ? 1 : 0;
    count.settled += notification.state.settledAt === null ? 0 : 1;
    count.sms += accepted.filter((receipt) => receipt.channel === 'sms').length;
    count.email += accepted.filter((receipt) => receipt.channel === 'email').length;
    count.unreached += accepted.length === 0 ? 1 : 0;
    count.statuses[notification.status] = (count.statuses[notification.status] ?? 0) + 1;
  }
  return [...phases.values()];
};

const deadlineClaims = (evidence: readonly Evidence[]): { count: number; worstLateMs: number } => {
  const late = evidence.flatMap(({ notification, attempts }) => notification.entries.flatMap(({ at, stamped: { transition } }) => {
    if (transition.kind !== 'FallbackClaimed' || transition.details.cause !== 'deadline') return [];
    const from = transition.details.rests_on?.attempt;
    const deadline = attempts.find((attempt) => attempt.attemptKey === from)?.decisionDeadlineAt;
    return deadline === undefined ? [] : [at - deadline];
  }));
  return { count: late.length, worstLateMs: Math.max(0, ...late) };
};

const slowestStartMs = (ledger: LedgerReading): number => Math.max(0, ...ledger.notifications.flatMap(({ entries, state }) => state.attempts.flatMap((attempt) => {
  const first = entries.find((entry) => entry.kind === 'SubmissionStarted' && entry.attemptKey === attempt.key);
  return first ? [first.at - attempt.plannedAt] : [];
})));

/** Where the client and the ledger know of different notifications. */
const unmatched = (client: ClientView, ledger: LedgerReading): Finding[] => {
  const known = new Set(ledger.notifications.map((notification) => notification.eventId));
  return [
    ...[...client.phaseOf.keys()].filter((eventId) => !known.has(eventId)).map((eventId): Finding => ({ kind: 'lost', eventId, detail: 'a receipt without a notification' })),
    ...[...known].filter((eventId) => !client.phaseOf.has(eventId)).map((eventId): Finding => ({ kind: 'split', eventId, detail: 'a notification that no receipt names' })),
  ];
};

const findingsOf = (one: Evidence, now: number): Finding[] => [
  ...(hasEnded(one.notification) ? [] : [{ kind: 'not_ended', eventId: one.notification.eventId, detail: one.notification.status } satisfies Finding]),
  ...sentTwice(one), ...claimedTwice(one), ...startedLate(one), ...pendingPastExpiry(one, now, EXPIRY_SLACK_MS), ...misreported(one), ...foldErrors(one),
];

/** Compares what the client was promised, what the provider received and what the ledger says. Reads, and changes nothing. */
export const audit = async (sources: AuditSources): Promise<AuditResult> => {
  const [lines, provider, ledger] = await Promise.all([readReceipts(sources.receiptsPath), readSandboxLog(sources.sandboxLogPath), readLedger(sources.databaseUrl)]);
  const client = readClient(lines, sources.phases);
  const evidence = evidenceOf(client, provider, ledger);
  const findings = [
    ...client.findings, ...unmatched(client, ledger), ...evidence.flatMap((one) => findingsOf(one, ledger.now)),
    ...ledger.chainErrors.map((fault): Finding => ({ kind: 'chain', eventId: fault.split(/[ :]/)[0] ?? null, detail: fault })),
  ];
  return { phases: countPhases(client, evidence), findings, phaseOf: client.phaseOf, deadlineClaims: deadlineClaims(evidence), slowestStartMs: slowestStartMs(ledger), ledger };
};
