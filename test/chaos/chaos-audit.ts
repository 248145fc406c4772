import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PhaseCount } from '../audit/auditor.ts';
import { audit } from '../audit/auditor.ts';
import type { LedgerReading } from '../audit/ledger-reader.ts';
import { readSandboxLog } from '../audit/sandbox-log.ts';
import type { Surroundings } from '../audit/surroundings.ts';
import { readReceipts } from '../audit/ticket-client.ts';
import type { ChaosDatabase } from './chaos-database.ts';
import type { ChaosFinding } from './chaos-findings.ts';
import { diedSubmitting, loggedFaults, receivedWhilePaused, startedWhilePaused, wronged } from './chaos-findings.ts';
import type { Faults } from './chaos-faults.ts';
import type { NoticeClient, NoticeLine } from './notice-client.ts';
import type { Supervisor } from './supervisor.ts';

export interface ChaosAudit {
  findings: ChaosFinding[];
  counts: Omit<PhaseCount, 'phase' | 'statuses'> & Record<'kills' | 'submitting' | 'submittingAttempts' | 'atPoints' | 'stops' | 'abandoned' | 'missed' | 'restarts' | 'flushes' | 'outages' | 'closed' | 'paused' | 'repeats', number>;
  statuses: Record<string, number>;
  killsBy: Record<string, number>;
  verified: string;
  slowestStartMs: number;
  latestClaimMs: number;
}

export interface ChaosSources { around: Surroundings; database: ChaosDatabase; supervisor: Supervisor; client: NoticeClient; faults: Faults['counts'] }

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VERIFY_WITHIN_MS = 300_000;
const NONE: PhaseCount = { phase: '', accepted: 0, ended: 0, settled: 0, sms: 0, email: 0, unreached: 0, statuses: {} };

/** The product's own `ledger verify`, from unchanged sources: exit code and what it said. */
const verifyLedger = (env: Record<string, string>): Promise<{ code: number; said: string }> => new Promise((resolve) => {
  execFile(process.execPath, ['bin/tocsin.js', 'ledger', 'verify'], { cwd: ROOT, env: { PATH: process.env['PATH'], ...env }, timeout: VERIFY_WITHIN_MS, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
    resolve({ code: error ? Number(error.code ?? 1) : 0, said: `${stdout}${stderr}`.trim() });
  });
});

const entriesOf = (ledger: LedgerReading, kind: string): number => ledger.notifications.reduce((sum, { entries }) => sum + entries.filter((entry) => entry.kind === kind).length, 0);

const constraintFindings = (broken: ReadonlyMap<string, number>): ChaosFinding[] =>
  [...broken].map(([name, many]) => ({ kind: 'constraint', eventId: null, detail: `Postgres refused ${many} statement(s): ${name}` }));

/** Stops everything and compares what clients, provider, ledger, Postgres and the services' logs say. */
export const auditChaos = async ({ around, database, supervisor, client, faults }: ChaosSources): Promise<ChaosAudit> => {
  const result = await audit({ receiptsPath: around.receiptsPath, sandboxLogPath: around.sandboxLogPath, databaseUrl: database.url });
  const lines = await readReceipts(around.receiptsPath) as NoticeLine[];
  const provider = await readSandboxLog(around.sandboxLogPath);
  const ends = await supervisor.end();
  const verified = await verifyLedger({ ...around.env, CHECKPOINT_FILE: join(around.folder, 'checkpoints.coordinator.1.jsonl') });
  const submitting = diedSubmitting(supervisor.deaths, result.ledger);
  const { accepted, ended, settled, sms, email, unreached, statuses } = result.phases[0] ?? NONE;
  const { closed, paused, repeats } = client.counts();
  const findings: ChaosFinding[] = [
    ...result.findings, ...startedWhilePaused(result.ledger), ...receivedWhilePaused(lines, provider, result.ledger), ...wronged(lines),
    ...constraintFindings(await database.brokenConstraints()), ...await loggedFaults(supervisor.logPaths),
    ...supervisor.collapses.map((detail): ChaosFinding => ({ kind: 'collapsed', eventId: null, detail })),
    ...Object.entries(ends).filter(([, { code }]) => code !== 0).map(([name, { code, signal }]): ChaosFinding => ({ kind: 'collapsed', eventId: null, detail: `${name} stopped with ${String(code ?? signal)} when asked to` })),
    ...(verified.code === 0 ? [] : [{ kind: 'verify' as const, eventId: null, detail: verified.said.slice(0, 2_000) }]),
  ];
  return {
    findings, statuses, verified: verified.said, slowestStartMs: result.slowestStartMs, latestClaimMs: result.deadlineClaims.worstLateMs,
    killsBy: supervisor.deaths.reduce<Record<string, number>>((by, { service, point }) => ({ ...by, [point ?? `${service}, at random`]: (by[point ?? `${service}, at random`] ?? 0) + 1 }), {}),
    counts: {
      accepted, ended, settled, sms, email, unreached, closed, paused, repeats, kills: supervisor.deaths.length, submitting: submitting.kills, submittingAttempts: submitting.attempts,
      atPoints: supervisor.deaths.filter(({ point }) => point !== null).length, stops: supervisor.counts.stops, abandoned: entriesOf(result.ledger, 'SubmissionAbandoned'), ...faults,
    },
  };
};
