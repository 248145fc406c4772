import type { Fleet } from './fleet.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import type { Surroundings } from './process.ts';
import type { SimulatedQueue } from './queue.ts';
import { stream } from './random.ts';

export interface PacerSettings { seed: number; around: Surroundings; ledger: MemoryLedger; queue: SimulatedQueue; fleet: Fleet }

/** Brings the ticks: one at the next due instant, or up to a second later; where the queue lost it, the heartbeats find out. */
export interface Pacer {
  /** Asked after every step: plans the next tick where one has become due sooner. */
  plantTick: () => void;
  /** The queue was flushed, and the ticks with it. */
  flushed: () => void;
}

const SILENT_FOR_MS = 2_200;
const RESCUED_AFTER_MS = 2_500;
const LEAST_DISTANCE_MS = 250;

export const openPacer = ({ seed, around, ledger, queue, fleet }: PacerSettings): Pacer => {
  const { scheduler, faults } = around;
  const pace = stream(seed, 'pace');
  const [slow] = faults.all('slow-coordinators');
  if (slow) faults.struck(slow);
  let flushedAt = Number.NEGATIVE_INFINITY;
  let lastTickAt = 0;
  let tickAt: number | null = null;
  let serial = 0;

  const dueAt = (): number | null => {
    let due: number | null = ledger.outbox.length > 0 ? scheduler.now : null;
    const consider = (at: number | null): void => { if (at !== null && (due === null || at < due)) due = at; };
    for (const n of ledger.notifications.values()) {
      consider(n.decideAt);
      for (const row of n.attempts.values()) if (row.nextPollAt !== null) consider(Math.max(row.nextPollAt, row.leasedUntil ?? 0));
    }
    const waiting = ledger.waitingDueAt();
    if (waiting !== null) consider(Math.max(waiting, scheduler.now));
    return due;
  };
  const tick = (): void => {
    lastTickAt = scheduler.now;
    const up = fleet.up('coordinator');
    if (up.length === 0) return;
    // A lost tick is found missing by every heartbeat.
    const rescued = queue.isAway() || scheduler.now - flushedAt < RESCUED_AFTER_MS;
    const double = faults.next('double-tick') !== null;
    for (const member of rescued || double ? up : [pace.pick(up)]) {
      member.tick().catch((error: Error) => { if ((error as { code?: string }).code === undefined) around.report('no sweep fails', error.message); });
    }
  };
  return {
    plantTick: () => {
      const due = dueAt();
      if (due === null) return;
      const late = pace.pick([0, 0, 20, 900]) + (slow ? pace.between(0, slow.ticksByMs) : 0);
      const at = Math.max(due + late, lastTickAt + LEAST_DISTANCE_MS, queue.isAway() ? scheduler.now + SILENT_FOR_MS : 0);
      if (tickAt !== null && tickAt <= at) return;
      tickAt = at;
      serial += 1;
      const mine = serial;
      scheduler.at(at, () => {
        if (mine !== serial) return;
        tickAt = null;
        tick();
      });
    },
    flushed: () => { flushedAt = scheduler.now; },
  };
};
