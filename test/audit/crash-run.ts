import { join } from 'node:path';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import type { Seeded } from './seeded.ts';
import type { StandaloneAddress, StandaloneProcess } from './standalone-process.ts';
import { DidNotStartError, startStandaloneProcess, whenReady } from './standalone-process.ts';
import type { Surroundings } from './surroundings.ts';
import { killPostgres } from './surroundings.ts';
import { openTicketClient } from './ticket-client.ts';
import type { TicketClient } from './ticket-client.ts';
import { within } from './waiting.ts';

export interface CrashSettings {
  around: Surroundings;
  random: Seeded;
  /** One line per kill. */
  say: (line: string) => void;
}

/** Tallies of one phase of the audit. `missed`: armed kills that did not happen, each repeated. */
export interface KillTally { kills: number; withPostgres: number; missed: number }

export interface CrashRun {
  client: TicketClient;
  tallies: Map<string, KillTally>;
  /** Of the standalone; null before its first start. */
  apiKey: () => string | null;
  /** The standalone dies at this point, under a few tickets; the next start goes on with the same data. */
  killAt: (point: FaultPoint) => Promise<void>;
  /** Starts plainly; resolves when it is ready. */
  startPlain: () => Promise<{ process: StandaloneProcess; address: StandaloneAddress }>;
  /** Kills at an instant, so many milliseconds after the start, whatever it is doing then. */
  killAfter: (phase: string, ms: number) => Promise<void>;
}

/** Numbers whose attempts take different ways; every third ticket escalates at once. */
const ON_CALLS = ['oncall-01', 'oncall-05', 'oncall-03', 'oncall-02', 'oncall-07', 'oncall-04', 'oncall-06'] as const;
const TICKETS_A_KILL = 3;
const PASSED_WITHIN_MS = 15_000;
const MOST_TRIES = 6;
/** Shares of the kills that take Postgres along. */
const POSTGRES_SHARE = 0.25;

export const pickOnCall = (random: Seeded): string => random.pick(ON_CALLS);

/** A series of starts and kills on one data directory. */
export const openCrashRun = ({ around, random, say }: CrashSettings): CrashRun => {
  const dataDir = join(around.folder, 'data');
  const client = openTicketClient(around.receiptsPath);
  const tallies = new Map<string, KillTally>();
  const tallyOf = (phase: string): KillTally => {
    const tally = tallies.get(phase) ?? { kills: 0, withPostgres: 0, missed: 0 };
    tallies.set(phase, tally);
    return tally;
  };
  let apiKey: string | null = null;
  const reach = async (started: StandaloneProcess): Promise<void> => {
    const address = await started.address;
    if (!address || !started.service.isRunning()) return;
    apiKey = address.api_key;
    client.reachAt([address.intake]);
  };
  const afterKill = async (phase: string, how: string): Promise<void> => {
    client.reachAt([]);
    const tally = tallyOf(phase);
    tally.kills += 1;
    const alsoPostgres = random.chance(POSTGRES_SHARE) && await killPostgres(dataDir);
    tally.withPostgres += alsoPostgres ? 1 : 0;
    const { begun, answered } = client.counts();
    say(`${around.backend} ${phase} #${tally.kills}: killed ${how}${alsoPostgres ? ', and Postgres with it' : ''}; ${answered}/${begun} tickets answered`);
  };
  const post = (phase: string): void => {
    const first = random.between(0, ON_CALLS.length - 1);
    for (let offset = 0; offset < TICKETS_A_KILL; offset += 1) {
      // A refusal comes up again in allAnswered.
      client.send(phase, ON_CALLS[(first + offset) % ON_CALLS.length] as string).catch(() => undefined);
    }
  };
  const tryKillAt = async (point: FaultPoint, pass: number): Promise<boolean> => {
    const started = startStandaloneProcess(around, { dataDir, killAt: `${point}:${pass}` });
    void reach(started);
    post(point);
    const { address, service } = started;
    const first = await Promise.race([address, service.ended]);
    const ended = first !== null && 'intake' in first ? await within(PASSED_WITHIN_MS, service.ended) : await service.ended;
    if (ended?.signal === 'SIGKILL') {
      await afterKill(point, `at pass ${pass}${first !== null && 'intake' in first ? '' : ', while it started'}`);
      return true;
    }
    if (ended) throw new DidNotStartError(`the standalone ended with ${String(ended.code ?? ended.signal)} by itself, armed with ${point}`);
    tallyOf(point).missed += 1;
    client.reachAt([]);
    await service.kill();
    return false;
  };
  return {
    client, tallies, apiKey: () => apiKey,
    killAt: async (point) => {
      let pass = random.pick([1, 1, 2, 3]);
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        if (await tryKillAt(point, pass)) return;
        pass = 1;
      }
      throw new Error(`the point ${point} was not passed in ${MOST_TRIES} starts`);
    },
    startPlain: async () => {
      const process = startStandaloneProcess(around, { dataDir });
      void reach(process);
      return { process, address: await whenReady(process) };
    },
    killAfter: async (phase, ms) => {
      const started = startStandaloneProcess(around, { dataDir });
      void reach(started);
      const early = await within(ms, started.service.ended);
      if (early) throw new DidNotStartError(`the standalone ended with ${String(early.code ?? early.signal)} by itself`);
      await started.service.kill();
      await afterKill(phase, `after ${ms} ms`);
    },
  };
};
