import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { cleanUp } from '../audit/child-service.ts';
import { allEnded, allSettled } from '../audit/ledger-waits.ts';
import type { BackendName, Surroundings } from '../audit/surroundings.ts';
import { openSurroundings } from '../audit/surroundings.ts';
import { until } from '../audit/waiting.ts';
import type { Mutant } from '../simulation/mutants.ts';
import type { ChaosAudit } from './chaos-audit.ts';
import { auditChaos } from './chaos-audit.ts';
import type { ChaosDatabase } from './chaos-database.ts';
import { startChaosDatabase } from './chaos-database.ts';
import { makeFaults } from './chaos-faults.ts';
import { drawPlan } from './chaos-plan.ts';
import type { ChaosPlan } from './chaos-plan.ts';
import { PROVIDER_TIMEOUT_MS, SUBMIT_START_WITHIN_MS, adjustPolicies } from './chaos-policies.ts';
import { openNoticeClient } from './notice-client.ts';
import type { NoticeClient } from './notice-client.ts';
import { plantTree } from './planted-tree.ts';
import { tellScripts } from './tell-sandbox.ts';
import type { Supervisor } from './supervisor.ts';
import { startSupervisor } from './supervisor.ts';

export interface ChaosSettings {
  backend: BackendName;
  durationMs: number;
  load: number;
  seed: number;
  plant: Mutant | null;
  /** How long a notification lives; a run ends at most that long after its last fault. */
  expiresAfterMs: number;
  /** Waits for the end of every grace period too. */
  untilSettled: boolean;
  say: (line: string) => void;
  keep: boolean;
}

export interface ChaosReport extends ChaosAudit { backend: BackendName; seed: number; digest: string; plant: string | null; folder: string; kept: boolean }

const PROGRESS_EVERY_MS = 5_000;
/** Faults of processes that were put off happen at the latest after this multiple of the planned time, or so long after it. */
const LAST_FAULT_SHARE = 1.3;
const LAST_FAULT_MS = 40_000;
const LAST_KILLS_MS = 8_000;
/** A busy machine ends later what it ends; only the waiting is more patient then, never a finding. */
const PATIENCE_MS = 90_000;

/** Keeps what runs from starting anything more. */
let stopParts: () => void = () => undefined;
let folderOfRun: string | null = null;

const endRun = async (folder: string, keep: boolean): Promise<void> => {
  stopParts();
  stopParts = () => undefined;
  await cleanUp();
  if (!keep) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
};

/** Ends a run from outside: nothing is started any more, no process and no folder stays. */
export const abandonChaos = async (): Promise<void> => {
  if (folderOfRun !== null) await endRun(folderOfRun, false);
};

interface Parts { settings: ChaosSettings; plan: ChaosPlan; around: Surroundings; database: ChaosDatabase; supervisor: Supervisor; client: NoticeClient }

const progressOf = ({ settings, supervisor, client }: Parts, faults: { counts: Record<string, number> }): string => {
  const { begun, answered, closed, paused } = client.counts();
  const { restarts, flushes, outages } = faults.counts;
  return `${answered}/${begun}/${settings.load} answered, ${closed} closed, ${paused} paused; ${supervisor.deaths.length} kills, ${supervisor.counts.stops} stops, ${restarts} restarts of Postgres, ${flushes} flushes, ${outages} outages`;
};

/** Pours the load and makes the faults, each at its instant; resolves once both are over. */
const rage = async (parts: Parts, faults: ReturnType<typeof makeFaults>): Promise<void> => {
  const { settings, plan, client } = parts;
  const startedAt = performance.now();
  const untilDue = async (atMs: number): Promise<void> => { await pause(Math.max(0, startedAt + atMs - performance.now())); };
  const progress = setInterval(() => settings.say(progressOf(parts, faults)), PROGRESS_EVERY_MS);
  const pour = async (): Promise<void> => {
    for (const [index, notice] of plan.notices.entries()) {
      await untilDue(notice.atMs);
      client.send(notice, index);
    }
  };
  const process = async (): Promise<void> => { for (const fault of plan.processFaults) { await untilDue(fault.atMs); faults.onProcess(fault); } await faults.processesDone(); };
  const world = async (): Promise<void> => { for (const fault of plan.worldFaults) { await untilDue(fault.atMs); await faults.onWorld(fault); } };
  try {
    await Promise.all([pour(), process(), world(), untilDue(settings.durationMs)]);
  } finally {
    clearInterval(progress);
  }
};

/** No more faults: everything comes up again, every client gets its answer, and every notification comes to its end. */
const calm = async ({ settings, database, supervisor, client }: Parts): Promise<void> => {
  // What is to die at its point may still pass it, by what the last notifications have left to do.
  await until('the last kills', () => Promise.resolve(supervisor.hasArmed() ? null : true), { withinMs: LAST_KILLS_MS }).catch(() => false);
  supervisor.disarm();
  await supervisor.whenUp();
  await client.allDone();
  settings.say('no more faults, every client is answered; waiting for every notification to end');
  const ended = await allEnded(database.url, settings.expiresAfterMs + PATIENCE_MS).catch(() => false);
  // Where something never ends, the audit itself says so.
  if (ended && settings.untilSettled) await allSettled(database.url).catch(() => false);
};

const openParts = async (settings: ChaosSettings, folder: string): Promise<Parts> => {
  const plan = drawPlan(settings);
  settings.say(`seed ${settings.seed}, plan ${plan.digest}: ${plan.processFaults.length} faults of processes, ${plan.worldFaults.length} of what they stand on, ${plan.notices.length} notifications`);
  const around = await openSurroundings(folder, settings.backend);
  adjustPolicies(around.env['TOCSIN_POLICY_DIR'] as string, settings.expiresAfterMs);
  const root = settings.plant === null ? undefined : plantTree(folder, settings.plant);
  const database = await startChaosDatabase(around);
  const apiKey = await database.makeApiKey();
  const env = {
    ...around.env, DATABASE_URL: database.url, TOCSIN_KEYS: generateKeyRingText(), TOCSIN_DATA_DIR: folder, LOG_LEVEL: 'info', DATABASE_POOL: '4',
    SUBMIT_START_WITHIN_MS: String(SUBMIT_START_WITHIN_MS), PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS), ...(around.redis ? { REDIS_URL: around.redis.url } : {}),
  };
  const supervisor = startSupervisor({ folder, env, ...(root === undefined ? {} : { root }) });
  const withEnv = { ...around, env };
  const client = openNoticeClient({ receiptsPath: around.receiptsPath, apiKey, seed: settings.seed, urls: supervisor.intakeUrls });
  stopParts = () => { supervisor.abandon(); client.abandon(); };
  await Promise.all([supervisor.whenUp(), tellScripts(around, plan)]);
  return { settings, plan, around: withEnv, database, supervisor, client };
};

/**
 * Runs two copies of each service under load while everything that may fail does, by a plan drawn from the seed; then lets
 * everything end, and compares receipts, provider log and ledger. Leaves nothing behind but, where something was found or it
 * is asked for, its folder; a planted mistake's findings are expected, and leave none.
 */
export const runChaos = async (given: ChaosSettings): Promise<ChaosReport> => {
  const settings = { ...given, say: (line: string) => given.say(`${given.backend}: ${line}`) };
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-chaos-'));
  folderOfRun = folder;
  let kept = settings.keep;
  try {
    const parts = await openParts(settings, folder);
    settings.say('every service is up, twice');
    const faults = makeFaults(parts, Math.max(settings.durationMs * LAST_FAULT_SHARE, settings.durationMs + LAST_FAULT_MS));
    await rage(parts, faults);
    await calm(parts);
    const audit = await auditChaos({ ...parts, faults: faults.counts });
    kept ||= settings.plant === null && audit.findings.length > 0;
    return { ...audit, backend: settings.backend, seed: settings.seed, digest: parts.plan.digest, plant: settings.plant?.name ?? null, folder, kept };
  } finally {
    await endRun(folder, kept);
    folderOfRun = null;
  }
};
