import { flushQueues } from '../audit/fleet-audit.ts';
import { ask } from '../audit/ledger-reader.ts';
import type { Surroundings } from '../audit/surroundings.ts';
import { until } from '../audit/waiting.ts';
import type { ChaosDatabase } from './chaos-database.ts';
import type { ProcessFault, WorldFault } from './chaos-plan.ts';
import type { Supervisor } from './supervisor.ts';
import { takeAway } from './tell-sandbox.ts';

export interface Faults {
  /** At once, or as soon as its victim has work in hand again: on a busy machine a kill of what is not yet up would show nothing. */
  onProcess: (fault: ProcessFault) => void;
  /** Resolves once no fault of a process waits any more. */
  processesDone: () => Promise<void>;
  /** Resolves once it is over. */
  onWorld: (fault: WorldFault) => Promise<void>;
  /** Of what services stand on; kills and stops are counted by the supervisor. `missed`: its victim did not come up in time. */
  counts: { restarts: number; flushes: number; outages: number; missed: number };
}

const MID_CALL_WITHIN_MS = 20_000;
/** Whether a submission that this worker started is under way. The name is ours: a word and a number. */
const underWay = (actor: string): string => `SELECT 1 FROM attempt a JOIN ledger_entry e ON e.event_id = a.event_id AND e.attempt_key = a.attempt_key
  WHERE a.state = 'submitting' AND e.kind = 'SubmissionStarted' AND e.actor = '${actor}' LIMIT 1`;

/** Makes planned faults happen; none of a process after `lastMs`, in ms from now. */
export const makeFaults = ({ around, database, supervisor }: { around: Surroundings; database: ChaosDatabase; supervisor: Supervisor }, lastMs: number): Faults => {
  const endsAt = performance.now() + lastMs;
  const lanes = new Map<string, Promise<void>>();
  const isInMidCall = (service: string) => async (pid: number): Promise<boolean> => (await ask(database.url, underWay(`delivery-${service}-${pid}`)).catch(() => [])).length > 0;
  /** Held still, looked at and let go, until a submission of it is under way; where none comes it is killed all the same. */
  const killInMidCall = async ({ slot, then }: Extract<ProcessFault, { kind: 'kill' }>): Promise<boolean> => {
    const look = async (): Promise<true | null> => ((await supervisor.killIf(slot, then, isInMidCall(slot.service))) === true ? true : null);
    return until('a submission', look, { withinMs: MID_CALL_WITHIN_MS, everyMs: 150 }).catch(() => supervisor.kill(slot, then));
  };
  const happen = (fault: ProcessFault): boolean | Promise<boolean> => {
    if (fault.kind === 'stop') return supervisor.stop(fault.slot, fault.forMs);
    return fault.inMidCall ? killInMidCall(fault) : supervisor.kill(fault.slot, fault.then);
  };
  const make = async (fault: ProcessFault): Promise<void> => {
    const withinMs = Math.max(0, endsAt - performance.now());
    const busy = await until('a victim', () => Promise.resolve(supervisor.isBusy(fault.slot) ? true : null), { withinMs, everyMs: 50 }).catch(() => false);
    counts.missed += busy && await happen(fault) ? 0 : 1;
  };
  const counts = { restarts: 0, flushes: 0, outages: 0, missed: 0 };
  return {
    counts,
    onProcess: (fault) => {
      const lane = `${fault.slot.service}.${fault.slot.copy}`;
      lanes.set(lane, (lanes.get(lane) ?? Promise.resolve()).then(() => make(fault)));
    },
    processesDone: async () => { await Promise.all(lanes.values()); },
    onWorld: async (fault) => {
      switch (fault.kind) {
        case 'database':
          await database.restart();
          counts.restarts += 1;
          return;
        case 'flush':
          await flushQueues(around, { databaseUrl: database.url }, () => undefined);
          counts.flushes += 1;
          return;
        case 'outage':
          counts.outages += 1;
          await takeAway(around, fault);
      }
    },
  };
};
