import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { APP_ROLE } from '../../shared/ledger/database.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import type { AuditResult } from './auditor.ts';
import { audit } from './auditor.ts';
import { atTheEnd, cleanUp } from './child-service.ts';
import { pickOnCall } from './crash-run.ts';
import type { Copy, Fleet } from './fleet.ts';
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

export interface FleetAuditSettings {
  backend: BackendName;
  load: number;
  /** Over how long the tickets are spread. */
  loadMs: number;
  /** `kill`: one copy of each service is killed; `flush`: the queues are emptied. Both in the middle of the load. */
  fault: 'kill' | 'flush';
  seed: number;
  untilSettled: boolean;
  say: (line: string) => void;
  keep?: boolean;
}

export interface FleetAuditReport { backend: BackendName; fault: 'kill' | 'flush'; result: AuditResult; shares: Share[]; exitCodes: Record<string, number | null>; faults: string[]; folder: string }

const PHASE = 'fleet';
const LATEST_DECISION_MS = 3_000;
const LEAST_SHARE = 0.2;
/** Past the middle, so that the copies that stay do not have all the work of the second half to themselves. */
const FAULT_AFTER_SHARE = 0.6;

const killOneOfEach = async (fleet: Fleet, say: (line: string) => void): Promise<void> => {
  const victims = fleet.copies.filter((copy): copy is Copy => copy.process.name.endsWith('.2'));
  await Promise.all(victims.map(({ process }) => process.kill()));
  say(`killed ${victims.map(({ process }) => `${process.name} (${process.pid})`).join(', ')}`);
};

const flushQueues = async (around: Surroundings, fleet: Fleet, say: (line: string) => void): Promise<void> => {
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

const faultsOf = (settings: FleetAuditSettings, report: Omit<FleetAuditReport, 'faults'>): string[] => [
  ...report.result.findings.map((finding) => `${finding.kind} ${finding.eventId ?? '-'}: ${finding.detail}`),
  ...(report.result.deadlineClaims.worstLateMs > LATEST_DECISION_MS ? [`a deadline was decided ${report.result.deadlineClaims.worstLateMs} ms late`] : []),
  ...report.shares.filter((share) => settings.fault === 'kill' && share.beforeFault < LEAST_SHARE).map((share) => `${share.name} did only ${Math.round(share.beforeFault * 100)} % of its kind of work`),
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
    const faultAt = await pourWithFault(settings, send, () => (settings.fault === 'kill' ? killOneOfEach(fleet, say) : flushQueues(around, fleet, say)));
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
