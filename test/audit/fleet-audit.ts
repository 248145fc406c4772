import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { APP_ROLE } from '../../shared/ledger/database.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import type { AuditResult } from './auditor.ts';
import { audit } from './auditor.ts';
import type { ChildService } from './child-service.ts';
import { atTheEnd, cleanUp } from './child-service.ts';
import { pickOnCall } from './crash-run.ts';
import type { Fleet } from './fleet.ts';
import { startFleet } from './fleet.ts';
import { ask } from './ledger-reader.ts';
import { allEnded, allSettled } from './ledger-waits.ts';
import { seeded } from './seeded.ts';
import type { Share } from './shares.ts';
import { sharesOf } from './shares.ts';
import type { BackendName, Surroundings } from './surroundings.ts';
import { openSurroundings, tellRedis } from './surroundings.ts';
import { openTicketClient, readReceipts } from './ticket-client.ts';
import { until } from './waiting.ts';

/**
 * What happens in the middle of the load: `kill`, one copy of each service is killed; `flush`, the queues are emptied; `pause`,
 * one copy of each stands still for longer than a submission may take; `database`, Postgres is killed and started again.
 */
export const FLEET_FAULTS = ['kill', 'flush', 'pause', 'database'] as const;
export type FleetFault = (typeof FLEET_FAULTS)[number];

export interface FleetAuditSettings {
  backend: BackendName;
  load: number;
  /** Over how long the tickets are spread. */
  loadMs: number;
  fault: FleetFault;
  seed: number;
  untilSettled: boolean;
  /** By how much what is late may be later, and a copy's share smaller, than on an idle machine; 1 where absent. */
  leniency?: number;
  say: (line: string) => void;
  keep?: boolean;
}

export interface FleetAuditReport { backend: BackendName; fault: FleetFault; result: AuditResult; shares: Share[]; exitCodes: Record<string, number | null>; faults: string[]; folder: string }

const PHASE = 'fleet';
const LATEST_DECISION_MS = 3_000;
const LEAST_SHARE = 0.2;
/** A lost job is enqueued again after one second, and after three under a new id. */
const SLOWEST_START_MS = 10_000;
/** Past the middle, so that the copies that stay do not have all the work of the second half to themselves. */
const FAULT_AFTER_SHARE = 0.6;

const PAUSE_MS = 8_000;

const victimsOf = (fleet: Fleet): ChildService[] => fleet.copies.map(({ process }) => process).filter(({ name }) => name.endsWith('.2'));
const named = (processes: readonly ChildService[]): string => processes.map(({ name, pid }) => `${name} (${pid})`).join(', ');

const killOneOfEach = async (fleet: Fleet, say: (line: string) => void): Promise<void> => {
  await Promise.all(victimsOf(fleet).map((process) => process.kill()));
  say(`killed ${named(victimsOf(fleet))}`);
};

const pauseOneOfEach = async (fleet: Fleet, say: (line: string) => void): Promise<void> => {
  say(`stopped for ${PAUSE_MS} ms: ${named(victimsOf(fleet))}`);
  await Promise.all(victimsOf(fleet).map((process) => process.pauseFor(PAUSE_MS)));
  say('they go on');
};

const restartDatabase = async (fleet: Fleet, say: (line: string) => void): Promise<void> => {
  await fleet.restartDatabase();
  say('killed Postgres and started it again');
};

/** Empties the queues: FLUSHALL, or BullMQ's schema dropped and made again. */
export const flushQueues = async (around: Surroundings, fleet: Pick<Fleet, 'databaseUrl'>, say: (line: string) => void): Promise<void> => {
  if (around.redis) {
    say(`FLUSHALL: ${await tellRedis(around.redis, 'FLUSHALL')}`);
    return;
  }
  // The tables are locked one by one, against workers that use them: of a deadlock with them the drop may be the victim.
  const drop = (): Promise<true | null> => ask(fleet.databaseUrl, 'DROP SCHEMA bullmq CASCADE').then(() => true as const, (error: { code?: string }) => {
    if (error.code === '40P01') return null;
    throw error;
  });
  await until('the drop of the schema', drop, { withinMs: 30_000 });
  await migrateQueueSchema(fleet.databaseUrl, APP_ROLE);
  say('dropped the schema of the queues and made it again');
};

const FAULTS: Record<FleetFault, (around: Surroundings, fleet: Fleet, say: (line: string) => void) => Promise<void>> = {
  kill: (_around, fleet, say) => killOneOfEach(fleet, say),
  flush: flushQueues,
  pause: (_around, fleet, say) => pauseOneOfEach(fleet, say),
  database: (_around, fleet, say) => restartDatabase(fleet, say),
};

/** Tickets at an even pace, with the fault in their midst. Returns the instant of the fault. */
const pourWithFault = async (settings: FleetAuditSettings, send: (onCall: string) => void, fault: () => Promise<void>): Promise<number> => {
  const random = seeded(settings.seed);
  let faultAt = 0;
  let happening: Promise<void> = Promise.resolve();
  for (let sent = 0; sent < settings.load; sent += 1) {
    if (sent === Math.floor(settings.load * FAULT_AFTER_SHARE)) {
      faultAt = Date.now();
      happening = fault();
      // Heard of below; until then it must not end the process.
      happening.catch(() => undefined);
    }
    send(pickOnCall(random));
    await pause(settings.loadMs / settings.load);
  }
  await happening;
  return faultAt;
};

const faultsOf = (settings: FleetAuditSettings, report: Omit<FleetAuditReport, 'faults'>, { leniency = 1 } = settings): string[] => [
  ...report.result.findings.map((finding) => `${finding.kind} ${finding.eventId ?? '-'}: ${finding.detail}`),
  // Nobody decides anything while there is no database.
  ...(settings.fault !== 'database' && report.result.deadlineClaims.worstLateMs > LATEST_DECISION_MS * leniency ? [`a deadline was decided ${report.result.deadlineClaims.worstLateMs} ms late`] : []),
  ...(report.result.slowestStartMs > SLOWEST_START_MS * leniency ? [`an attempt was started ${report.result.slowestStartMs} ms after it was planned`] : []),
  ...report.shares.flatMap(({ name, beforeFault }) => (settings.backend === 'redis' && beforeFault !== null && beforeFault < LEAST_SHARE / leniency ? [`${name} did only ${Math.round(beforeFault * 100)} % of its kind of work`] : [])),
  ...Object.entries(report.exitCodes).filter(([, code]) => code !== 0).map(([name, code]) => `${name} stopped with ${String(code)}`),
];

/** Runs each service as processes of their own, disturbs them under load, and audits what is left. */
export const fleetAudit = async (settings: FleetAuditSettings): Promise<FleetAuditReport> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-fleet-'));
  const say = (line: string): void => settings.say(`${settings.backend} ${settings.fault}: ${line}`);
  try {
    const around = await openSurroundings(folder, settings.backend);
    const fleet = await startFleet(around);
    say(`${fleet.copies.length} copies are up`);
    const client = openTicketClient(around.receiptsPath);
    client.reachAt(fleet.intakeUrls());
    // A refusal comes up again in allAnswered.
    const send = (onCall: string): void => { client.send(PHASE, onCall).catch(() => undefined); };
    const faultAt = await pourWithFault(settings, send, () => FAULTS[settings.fault](around, fleet, say));
    await client.allAnswered();
    say('every ticket has its receipt; waiting for them to end');
    const endedInTime = await allEnded(fleet.databaseUrl).catch(() => false);
    if (endedInTime && settings.untilSettled) await allSettled(fleet.databaseUrl).catch(() => false);
    const result = await audit({ receiptsPath: around.receiptsPath, sandboxLogPath: around.sandboxLogPath, databaseUrl: fleet.databaseUrl });
    const shares = sharesOf(fleet.copies, { ledger: result.ledger, receipts: await readReceipts(around.receiptsPath), faultAt });
    const exitCodes = await fleet.stop();
    const report = { backend: settings.backend, fault: settings.fault, result, shares, exitCodes, folder };
    const faults = faultsOf(settings, report);
    if (settings.keep !== true && faults.length === 0) atTheEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    return { ...report, faults };
  } finally {
    await cleanUp();
  }
};
