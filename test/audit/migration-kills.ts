import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditResult } from './auditor.ts';
import { audit } from './auditor.ts';
import { allEnded } from './ledger-waits.ts';
import type { CrashSettings, KillTally } from './crash-run.ts';
import { DidNotStartError, startStandaloneProcess, whenReady } from './standalone-process.ts';
import { killPostgres } from './surroundings.ts';
import type { TicketClient } from './ticket-client.ts';

const MIGRATIONS = 3;
const ENDS_WITHIN_MS = 60_000;

/**
 * On an empty data directory each time: the first start dies inside a migration's transaction, the second one must come up
 * with everything and take a ticket. Each has a ledger, and so an audit, of its own.
 */
export const killInMigrations = async (settings: CrashSettings, client: TicketClient, times: number): Promise<{ tally: KillTally; results: AuditResult[] }> => {
  const { around, random, say } = settings;
  const tally: KillTally = { kills: 0, withPostgres: 0, missed: 0 };
  const results: AuditResult[] = [];
  for (let round = 1; round <= times; round += 1) {
    const dataDir = join(around.folder, `fresh-${round}`);
    const phase = `mid-migration#${round}`;
    const pass = random.between(1, MIGRATIONS);
    const dying = startStandaloneProcess(around, { dataDir, killAt: `mid-migration:${pass}`, redisDatabase: 1 });
    const ended = await dying.service.ended;
    if (ended.signal !== 'SIGKILL') throw new DidNotStartError(`the standalone ended with ${String(ended.code ?? ended.signal)} instead of dying in migration ${pass}`);
    const alsoPostgres = random.chance(0.4) && await killPostgres(dataDir);
    tally.kills += 1;
    tally.withPostgres += alsoPostgres ? 1 : 0;
    const plain = startStandaloneProcess(around, { dataDir, redisDatabase: 1 });
    const { intake, database } = await whenReady(plain);
    client.reachAt([intake]);
    await Promise.all(['oncall-01', 'oncall-05'].map((onCall) => client.send(phase, onCall)));
    client.reachAt([]);
    await allEnded(database, ENDS_WITHIN_MS);
    results.push(await audit({ receiptsPath: around.receiptsPath, sandboxLogPath: around.sandboxLogPath, databaseUrl: database, phases: [phase] }));
    const { code } = await plain.service.stop();
    if (code !== 0) throw new DidNotStartError(`the standalone stopped with ${String(code)}`);
    await rm(dataDir, { recursive: true, force: true });
    say(`${around.backend} mid-migration #${round}: killed in migration ${pass}${alsoPostgres ? ', and Postgres with it' : ''}; the next start had everything`);
  }
  return { tally, results };
};
