import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import { FAULT_POINTS } from '../../shared/telemetry/fault-points.ts';
import type { AuditResult } from './auditor.ts';
import { audit } from './auditor.ts';
import { atTheEnd, cleanUp } from './child-service.ts';
import type { CrashRun, KillTally } from './crash-run.ts';
import { openCrashRun, pickOnCall } from './crash-run.ts';
import { allEnded, allSettled } from './ledger-waits.ts';
import { killInMigrations } from './migration-kills.ts';
import { seeded } from './seeded.ts';
import type { BackendName } from './surroundings.ts';
import { killPostgres, openSurroundings } from './surroundings.ts';

export interface CrashAuditSettings {
  backend: BackendName;
  points: readonly FaultPoint[];
  /** Kills at each point. */
  times: number;
  /** Kills at random instants, under `load` tickets. */
  randomKills: number;
  load: number;
  seed: number;
  /** Waits for the end of every grace period too, and not only for every outcome. */
  untilSettled: boolean;
  say: (line: string) => void;
  /** Keeps the folder with data, receipts and logs. */
  keep?: boolean;
}

export interface CrashAuditReport { backend: BackendName; tallies: Map<string, KillTally>; results: AuditResult[]; folder: string }

const RANDOM_PHASE = 'random';
/** A kill at random comes this long after the start: also while it starts, which takes some two seconds. */
const EARLIEST_KILL_MS = 700;
const LATEST_KILL_MS = 7_000;
/** Share of the tickets that the client closes as soon as it has the receipt. */
const CLOSED_SHARE = 0.1;

const killAtPoints = async (run: CrashRun, settings: CrashAuditSettings): Promise<void> => {
  const random = seeded(settings.seed + 1);
  const points = settings.points.filter((point) => point !== 'mid-migration');
  for (let round = 0; round < settings.times; round += 1) for (const point of random.shuffled(points)) await run.killAt(point);
};

/** Tickets at an even pace over all the kills, so that each kill finds some at every stage. */
const pourTickets = async (run: CrashRun, settings: CrashAuditSettings): Promise<void> => {
  const random = seeded(settings.seed + 2);
  const everyMs = (settings.randomKills * (EARLIEST_KILL_MS + LATEST_KILL_MS)) / 2 / Math.max(1, settings.load);
  for (let sent = 0; sent < settings.load; sent += 1) {
    const closes = random.chance(CLOSED_SHARE);
    // A refusal comes up again in allAnswered.
    run.client.send(RANDOM_PHASE, pickOnCall(random)).then((eventId) => (closes ? run.client.close(eventId, run.apiKey() ?? '') : undefined)).catch(() => undefined);
    await pause(everyMs);
  }
};

const killAtRandom = async (run: CrashRun, settings: CrashAuditSettings): Promise<void> => {
  if (settings.randomKills === 0) return;
  const random = seeded(settings.seed + 3);
  const pouring = pourTickets(run, settings);
  for (let kill = 0; kill < settings.randomKills; kill += 1) await run.killAfter(RANDOM_PHASE, random.between(EARLIEST_KILL_MS, LATEST_KILL_MS));
  await pouring;
};

/** Where something never ends, the audit itself says so. */
const orGiveUp = (waiting: Promise<true>): Promise<boolean> => waiting.catch(() => false);

const finish = async (run: CrashRun, settings: CrashAuditSettings, around: Awaited<ReturnType<typeof openSurroundings>>): Promise<AuditResult> => {
  const { process: last, address } = await run.startPlain();
  await run.client.allAnswered();
  settings.say(`${settings.backend}: every ticket has its receipt; waiting for them to end`);
  const ended = await orGiveUp(allEnded(address.database));
  if (ended && settings.untilSettled) await orGiveUp(allSettled(address.database));
  const pointPhases = [...run.tallies.keys(), RANDOM_PHASE];
  const result = await audit({ receiptsPath: around.receiptsPath, sandboxLogPath: around.sandboxLogPath, databaseUrl: address.database, phases: pointPhases });
  await last.service.stop();
  return result;
};

/** Kills the standalone at every point and at random, and audits what is left. The folder goes where nothing was found. */
export const crashAudit = async (settings: CrashAuditSettings): Promise<CrashAuditReport> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-crash-'));
  atTheEnd(() => killPostgres(join(folder, 'data')));
  const around = await openSurroundings(folder, settings.backend);
  const random = seeded(settings.seed);
  const run = openCrashRun({ around, random, say: settings.say });
  try {
    const migrations = settings.points.includes('mid-migration') ? await killInMigrations({ around, random, say: settings.say }, run.client, settings.times) : null;
    await killAtPoints(run, settings);
    await killAtRandom(run, settings);
    const result = await finish(run, settings, around);
    const tallies = new Map([...(migrations ? [['mid-migration', migrations.tally] as const] : []), ...run.tallies]);
    const results = [...(migrations?.results ?? []), result];
    if (settings.keep !== true && results.every(({ findings }) => findings.length === 0)) atTheEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    return { backend: settings.backend, tallies, results, folder };
  } finally {
    await cleanUp();
  }
};

/** All points, in the order in which a notification passes them. */
export const ALL_POINTS: readonly FaultPoint[] = FAULT_POINTS;
