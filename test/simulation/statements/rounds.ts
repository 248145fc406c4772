import type { Database } from '../../../shared/ledger/database.ts';
import { feedRound } from './feed-round.ts';
import { leaseRound } from './lease-round.ts';
import { locksRound } from './locks-round.ts';
import { relayRound } from './relay-round.ts';
import type { Rig } from './rig.ts';
import { acceptOne, openRig, publishShipped } from './rig.ts';
import { rivalsRound } from './rivals-round.ts';

/** The rounds of a seed, in this order. `feed` begins where the round before it ended. */
export const ROUNDS = ['rivals', 'locks', 'relay', 'leases', 'feed'] as const;
export type RoundName = (typeof ROUNDS)[number];

export interface Broken { seed: number; round: RoundName; invariant: string; about: string }
export interface RoundsResult { runs: number; broken: Broken | null }
export interface RoundsSettings { db: Database; from: number; runs: number; only?: RoundName | undefined; onRun?: (runs: number) => void }

/** What a seed left behind is none of the next one's business; the entries stay, as they must. */
const leaveNothingDue = async (db: Database): Promise<void> => {
  await db.pool.query('UPDATE notification_state SET decide_at = NULL WHERE decide_at IS NOT NULL');
  await db.pool.query('UPDATE attempt SET next_poll_at = NULL WHERE next_poll_at IS NOT NULL');
  await db.pool.query('DELETE FROM outbox');
};

/** Runs the seeds `from, from + 1, …` against a migrated database; ends at the first promise that is broken. */
export const runRounds = async ({ db, from, runs, only, onRun }: RoundsSettings): Promise<RoundsResult> => {
  let cursor: string | null = null;
  const play: Record<RoundName, (rig: Rig) => Promise<void>> = {
    rivals: rivalsRound, locks: locksRound, relay: relayRound, leases: leaseRound, feed: async (rig) => { cursor = await feedRound(rig, cursor); },
  };
  await publishShipped(db);
  for (let done = 0; done < runs; done += 1) {
    const seed = from + done;
    for (const round of ROUNDS.filter((one) => only === undefined || one === only)) {
      const told: Broken[] = [];
      const rig = openRig(db, { seed, round }, (invariant, about) => { told.push({ seed, round, invariant, about }); });
      try {
        // The first append of a database opens its epoch, and whoever comes meanwhile would wait for it.
        if (done === 0) await acceptOne(rig);
        await leaveNothingDue(db);
        await play[round](rig);
      } catch (error) {
        // Where a promise is broken already, what follows from it is not the finding.
        if (told.length === 0) throw error;
      }
      if (told.length > 0) return { runs: done + 1, broken: told[0] as Broken };
    }
    onRun?.(done + 1);
  }
  return { runs, broken: null };
};
