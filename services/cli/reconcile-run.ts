import type { Beside, OldExport, OldRow } from '../../shared/ledger/reconcile.ts';
import type { AttemptStateName } from '../../shared/domain/words.ts';
import type { ExportLine, ExportRow } from './export-rows.ts';
import { agree, ourOutcome } from './outcome-words.ts';
import type { OldOutcome } from './outcome-words.ts';

/** One thing that the two records do not agree on. `line` is that of the export; null where it has none. */
export type Finding =
  | { kind: 'bad_row'; line: number; problem: string }
  | { kind: 'missing_here'; line: number; event_id: string | null; channel: string; outcome: string }
  | { kind: 'missing_there'; event_id: string; channel: string; state: string; outcome: string }
  | { kind: 'differs'; line: number; event_id: string; channel: string; theirs: string; ours: string; state: string | null }
  | { kind: 'twice'; line: number; event_id: string; channel: string };

export const FINDINGS = ['bad_row', 'missing_here', 'missing_there', 'differs', 'twice'] as const satisfies readonly Finding['kind'][];

export interface ReconcileSum {
  rows: number; compared: number; same: number;
  /** Rows of another purpose, or accepted outside of the span. */
  passed_over: number;
  found: Record<Finding['kind'], number>;
  /** `theirs -> ours`, with how often. */
  differences: Record<string, number>;
}
export const noSum = (): ReconcileSum => ({ rows: 0, compared: 0, same: 0, passed_over: 0, found: { bad_row: 0, missing_here: 0, missing_there: 0, differs: 0, twice: 0 }, differences: {} });

export interface ReconcileScope {
  tenant: string;
  purpose: string | null;
  /** Event ids that are looked at; null leaves that end to the export. */
  first: string | null;
  last: string | null;
}

export interface ReconcileRun {
  old: OldExport; scope: ReconcileScope; storedKeyOf: (key: string) => string;
  tell: (finding: Finding) => void;
  /** The bytes of the export that have been read, then the rows and events that have been compared. */
  onProgress: (step: 'read' | 'compare' | 'search', done: number) => void;
}

const BATCH = 1_000;

/** Reads the whole export into the comparison; bad rows and keys that nobody has are told at once. */
const takeIn = async (lines: AsyncIterable<ExportLine>, { old, scope, storedKeyOf, tell, onProgress }: ReconcileRun, sum: ReconcileSum): Promise<void> => {
  let batch: ExportRow[] = [];
  const flush = async (): Promise<void> => {
    const keyed = batch.flatMap(({ eventId, idempotencyKey }) => (eventId === null && idempotencyKey !== null ? [storedKeyOf(idempotencyKey)] : []));
    const events = keyed.length === 0 ? new Map<string, string>() : await old.resolve(scope.tenant, keyed);
    const rows: OldRow[] = [];
    for (const { line, eventId, idempotencyKey, channel, outcome } of batch) {
      const found = eventId ?? events.get(storedKeyOf(idempotencyKey as string));
      if (found === undefined) tell({ kind: 'missing_here', line, event_id: null, channel, outcome });
      else rows.push({ line, eventId: found, channel, outcome });
    }
    if (rows.length > 0) await old.add(rows);
    batch = [];
  };
  for await (const one of lines) {
    sum.rows += 1;
    if ('row' in one) batch.push(one.row);
    else tell({ kind: 'bad_row', line: one.line, problem: one.problem });
    if (batch.length >= BATCH) await flush();
    onProgress('read', one.bytes);
  }
  await flush();
};

const within = ({ first, last }: ReconcileScope, eventId: string): boolean => (first === null || eventId >= first) && (last === null || eventId <= last);

const compare = ({ line, eventId, channel, outcome, known }: Beside, { scope, tell }: ReconcileRun, sum: ReconcileSum): void => {
  if (!within(scope, eventId) || (known && scope.purpose !== null && known.purpose !== scope.purpose)) {
    sum.passed_over += 1;
    return;
  }
  sum.compared += 1;
  if (!known) return tell({ kind: 'missing_here', line, event_id: eventId, channel, outcome });
  const ours = ourOutcome(known.state);
  if (agree(outcome as OldOutcome, ours)) sum.same += 1;
  else tell({ kind: 'differs', line, event_id: eventId, channel, theirs: outcome, ours, state: known.state });
};

/** Every row against the ledger; of several for one event and channel the last one counts, and the others are told. */
const compareAll = async (run: ReconcileRun, sum: ReconcileSum): Promise<void> => {
  let waiting: Beside | null = null;
  let done = 0;
  for await (const row of run.old.rows(run.scope.tenant)) {
    if (waiting && waiting.eventId === row.eventId && waiting.channel === row.channel) run.tell({ kind: 'twice', line: waiting.line, event_id: row.eventId, channel: row.channel });
    else if (waiting) compare(waiting, run, sum);
    waiting = row;
    done += 1;
    run.onProgress('compare', done);
  }
  if (waiting) compare(waiting, run, sum);
};

/** What was sent, or would have been, by the ledger, and is not in the export. */
const isExpected = (state: AttemptStateName): boolean => ourOutcome(state) !== 'not_sent';

const searchOurs = async (run: ReconcileRun, { first, last }: { first: string; last: string }): Promise<void> => {
  let done = 0;
  for await (const { attempts } of run.old.ours({ tenant: run.scope.tenant, purpose: run.scope.purpose, first, last })) {
    done += 1;
    run.onProgress('search', done);
    for (const { eventId, channel, state, listed } of attempts) {
      if (!listed && isExpected(state)) run.tell({ kind: 'missing_there', event_id: eventId, channel, state, outcome: ourOutcome(state) });
    }
  }
};

/**
 * Holds an export against the ledger, row by row and event by event. Without a span, the ledger is searched between the first and the last event
 * that the export has.
 */
export const reconcile = async (lines: AsyncIterable<ExportLine>, given: ReconcileRun): Promise<ReconcileSum> => {
  const sum = noSum();
  const run: ReconcileRun = {
    ...given,
    tell: (finding) => {
      sum.found[finding.kind] += 1;
      if (finding.kind === 'differs') sum.differences[`${finding.theirs} -> ${finding.ours}`] = (sum.differences[`${finding.theirs} -> ${finding.ours}`] ?? 0) + 1;
      given.tell(finding);
    },
  };
  await takeIn(lines, run, sum);
  const extent = await run.old.close();
  await compareAll(run, sum);
  const { first, last } = run.scope;
  if (extent || (first !== null && last !== null)) await searchOurs(run, { first: first ?? extent?.first ?? '', last: last ?? extent?.last ?? '' });
  return sum;
};
