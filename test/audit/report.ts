import type { AuditResult, PhaseCount } from './auditor.ts';
import { FINDING_KINDS } from './findings.ts';
import type { Finding } from './findings.ts';
import type { KillTally } from './crash-run.ts';

const COLUMNS = ['kills', '+pg', 'missed', 'accepted', 'ended', 'settled', 'sms', 'email', 'unreached', ...FINDING_KINDS] as const;
type Row = Record<(typeof COLUMNS)[number], number>;
export interface AuditTable { rows: Map<string, Row>; statuses: Record<string, number>; findings: (Finding & { phase: string })[] }

const emptyRow = (): Row => Object.fromEntries(COLUMNS.map((column) => [column, 0])) as Row;
/** `mid-migration#3` is one of the ledgers of `mid-migration`. */
const rowName = (phase: string): string => phase.replace(/#\d+$/, '');

const addCounts = (row: Row, count: PhaseCount): void => {
  for (const column of ['accepted', 'ended', 'settled', 'sms', 'email', 'unreached'] as const) row[column] += count[column];
};

/** Gathers kills, counts and findings by point. */
export const tabulate = (tallies: ReadonlyMap<string, KillTally>, results: readonly AuditResult[]): AuditTable => {
  const rows = new Map<string, Row>();
  const rowFor = (phase: string): Row => {
    const row = rows.get(rowName(phase)) ?? emptyRow();
    rows.set(rowName(phase), row);
    return row;
  };
  const statuses: Record<string, number> = {};
  const findings: AuditTable['findings'] = [];
  for (const [phase, tally] of tallies) Object.assign(rowFor(phase), { kills: tally.kills, '+pg': tally.withPostgres, missed: tally.missed });
  for (const result of results) {
    for (const count of result.phases) {
      addCounts(rowFor(count.phase), count);
      for (const [status, many] of Object.entries(count.statuses)) statuses[status] = (statuses[status] ?? 0) + many;
    }
    for (const finding of result.findings) {
      const phase = rowName((finding.eventId === null ? undefined : result.phaseOf.get(finding.eventId)) ?? 'unknown');
      rowFor(phase)[finding.kind] += 1;
      findings.push({ ...finding, phase });
    }
  }
  return { rows, statuses, findings };
};

const padded = (cells: readonly string[], widths: readonly number[]): string => cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] as number) : cell.padStart(widths[index] as number))).join('  ');

/** The table as text, with a last line of sums. */
export const formatTable = (title: string, { rows, statuses, findings }: AuditTable): string => {
  const total = emptyRow();
  for (const row of rows.values()) for (const column of COLUMNS) total[column] += row[column];
  const cells = [['point', ...COLUMNS], ...[...rows, ['all', total] as const].map(([name, row]) => [name, ...COLUMNS.map((column) => String(row[column]))])];
  const widths = (cells[0] as string[]).map((_, index) => Math.max(...cells.map((line) => (line[index] as string).length)));
  return [
    title, ...cells.map((line) => padded(line, widths)),
    `statuses: ${Object.entries(statuses).map(([status, many]) => `${status} ${many}`).join(', ')}`,
    ...findings.slice(0, 50).map((finding) => `FOUND ${finding.kind} [${finding.phase}] ${finding.eventId ?? '-'}: ${finding.detail}`),
  ].join('\n');
};
