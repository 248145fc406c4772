import { createRelay } from '../../../shared/delivery/relay.ts';
import { moveOutbox } from '../../../shared/ledger/claims.ts';
import type { WorkJob } from '../../../shared/queue/work-job.ts';
import type { Rig } from './rig.ts';
import { acceptMany } from './rig.ts';

const PASSES = 4;

class QueueAway extends Error {
  override readonly name = 'QueueAway';
}

/** Two relays on one outbox, a queue that is away now and then: a row leaves once the queue has it, and not before. */
export const relayRound = async (rig: Rig): Promise<void> => {
  const { random } = rig;
  const taken = new Map<string, number>();
  let away = false;
  const standing = async (): Promise<Set<string>> =>
    new Set((await rig.db.pool.query<{ key: string }>("SELECT attempt_key || '.g' || generation AS key FROM outbox")).rows.map((row) => row.key));
  const wanted = new Map<string, string>();
  const addJobs = (_queue: string, jobs: readonly WorkJob[]): Promise<void> => {
    if (jobs.length > 0 && away) return Promise.reject(new QueueAway('the queue is away'));
    for (const { id } of jobs) taken.set(id, (taken.get(id) ?? 0) + 1);
    return Promise.resolve();
  };
  const relays = [0, 1].map(() => createRelay({ ledger: { moveOutbox: (limit, enqueue) => moveOutbox(rig.watched.db, limit, enqueue) }, queue: { addJobs }, now: rig.now, log: rig.engine.log }));
  for (let pass = 0; pass < PASSES; pass += 1) {
    const ids = await acceptMany(rig, random.between(1, 3));
    for (const eventId of ids) wanted.set(eventId, `${eventId}.sms.1`);
    away = random.chance(0.5);
    await Promise.all(relays.map((relay) => relay.drain().catch((error: Error) => { if (error.name !== 'QueueAway') throw error; })));
    const left = await standing();
    for (const [eventId, attempt] of wanted) {
      const inQueue = [...taken.keys()].some((id) => id.startsWith(eventId));
      const inOutbox = [...left].some((key) => key.startsWith(attempt));
      if (!inQueue && !inOutbox) rig.report('an outbox row leaves for the queue only', attempt);
      if (inQueue && inOutbox) rig.report('what the queue has leaves the outbox', attempt);
    }
  }
  away = false;
  for (const relay of relays) await relay.drain();
  for (const [eventId, attempt] of wanted) {
    const count = [...taken].filter(([id]) => id.startsWith(eventId)).reduce((sum, [, times]) => sum + times, 0);
    if (count === 0) rig.report('an outbox row leaves for the queue only', attempt);
    if (count > 1) rig.report('a row is moved by one relay', `${attempt} ${count} times`);
  }
  for (const relay of relays) await relay.close();
};
