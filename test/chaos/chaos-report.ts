import { FINDING_KINDS } from '../audit/findings.ts';
import type { ChaosReport } from './chaos.ts';
import { CHAOS_KINDS } from './chaos-findings.ts';

const MOST_LISTED = 40;

const listed = (counts: Record<string, number>): string => Object.entries(counts).map(([name, many]) => `${name} ${many}`).join(', ');

/** How often each kind was found, those that were not included. */
export const countFindings = ({ findings }: Pick<ChaosReport, 'findings'>): Record<string, number> =>
  Object.fromEntries([...FINDING_KINDS, ...CHAOS_KINDS].map((kind) => [kind, findings.filter((finding) => finding.kind === kind).length]));

/** The same detail of many events is one line with their number. */
const grouped = (report: ChaosReport): string[] => {
  const groups = new Map<string, { many: number; eventId: string | null }>();
  for (const { kind, detail, eventId } of report.findings) {
    const text = `${kind}: ${detail.replaceAll(/evt_[0-9A-Z]+/g, 'evt_…')}`;
    groups.set(text, { many: (groups.get(text)?.many ?? 0) + 1, eventId: groups.get(text)?.eventId ?? eventId });
  }
  return [...groups].slice(0, MOST_LISTED).map(([text, { many, eventId }]) => `FOUND ${text}${many > 1 ? `  (${many} times)` : ''}${eventId === null ? '' : `, first ${eventId}`}`);
};

/** The result as text. */
export const formatReport = (report: ChaosReport): string => {
  const { counts: c } = report;
  const found = countFindings(report);
  const rows: [string, string][] = [
    ['accepted', `${c.accepted}, ended ${c.ended}, settled ${c.settled}; SMS ${c.sms}, email ${c.email} taken by the provider; unreached ${c.unreached}`],
    ['statuses', listed(report.statuses)],
    ['clients', `${c.closed} closes and ${c.paused} pauses confirmed, ${c.repeats} requests repeated`],
    ['kills', `${c.kills}, of these ${c.submitting} hit ${c.submittingAttempts} attempts in submitting; ${c.atPoints} at named points; missed ${c.missed}`],
    ['', listed(report.killsBy)],
    ['stops', `${c.stops}; ${c.abandoned} submissions abandoned at the fence`],
    ['Postgres', `${c.restarts} immediate restarts`], ['flushes', String(c.flushes)], ['outages', `${c.outages} of the provider`],
    ['slowest', `start of an attempt ${report.slowestStartMs} ms after planning, claim ${report.latestClaimMs} ms after its deadline (faults included)`],
    ['verify', report.verified.split('\n').slice(0, 4).join(' | ')],
    ['findings', listed(found)],
  ];
  return [
    `Chaos on ${report.backend}, seed ${report.seed}, plan ${report.digest}${report.plant === null ? '' : `, planted: ${report.plant}`}`,
    ...rows.map(([name, text]) => `${name.padEnd(10)}${text}`), ...grouped(report),
    report.findings.length === 0 ? 'nothing was found' : `${report.findings.length} finding(s)${report.kept ? `; data, receipts and logs are in ${report.folder}` : ''}`,
  ].join('\n');
};

/** The result for a program. */
export const reportJson = (report: ChaosReport): object => ({ ...report, found: countFindings(report), folder: report.kept ? report.folder : null });
