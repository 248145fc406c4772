import { appendGroup } from '../../../shared/ledger/append-group.ts';
import { createLoader } from '../../../shared/ledger/load.ts';
import type { Append } from '../../../shared/ledger/rows.ts';
import type { Rig } from './rig.ts';
import { acceptMany, decided, until, waitingForLocks } from './rig.ts';
import { brokenBy } from './watched-database.ts';

const EVENTS = 8;
const STATEMENTS = 4;

interface Gate { lock: (eventIds: readonly string[]) => Promise<void>; open: () => Promise<void> }

/** A transaction that holds some rows until it is let go: statements over them then stand in the middle of their locks. */
const openGate = async (rig: Rig): Promise<Gate> => {
  const client = await rig.db.pool.connect();
  await client.query('BEGIN');
  return {
    lock: async (eventIds) => { await client.query('SELECT 1 FROM notification_state WHERE event_id = ANY($1::text[]) ORDER BY event_id FOR NO KEY UPDATE', [eventIds]); },
    open: async () => {
      await client.query('COMMIT');
      client.release();
    },
  };
};

/** A statement over some of the events in whatever order they come; resolves to the events it won. */
const groupOver = (rig: Rig, appends: readonly Append[], loads: boolean): Promise<Set<string>> => {
  if (!loads) return appendGroup(rig.watched.db, appends);
  const load = createLoader(rig.watched.db);
  return Promise.all(appends.map((append) => load(append.eventId))).then(() => new Set<string>());
};

/**
 * Groups that overlap, each over the same events in another order, and loads among them. A gate holds some rows of each until
 * all of them wait; what they have locked by then and what they still want decides whether they wait for each other or in a ring.
 */
export const locksRound = async (rig: Rig): Promise<void> => {
  const { random } = rig;
  const ids = await acceptMany(rig, EVENTS);
  const appends: Append[] = [];
  for (const eventId of ids) {
    const append = await decided(rig, eventId, { kind: 'close', reason: 'taken' });
    if (append) appends.push(append);
  }
  const held = random.shuffled([...ids].sort().slice(2, -2)).slice(0, 2);
  const gate = await openGate(rig);
  const won: string[] = [];
  try {
    await gate.lock(held);
    const statements = Array.from({ length: STATEMENTS }, async (_, index) => {
      const group = random.shuffled(appends).slice(0, random.between(6, EVENTS));
      // All of them stand at the gate, or there would be nothing to be in the middle of.
      const whole = group.some((append) => held.includes(append.eventId)) ? group : [...group, appends.find((append) => append.eventId === held[0]) as Append];
      try {
        won.push(...await groupOver(rig, whole, index % 2 === 1));
      } catch (error) {
        if (!brokenBy(error)) throw error;
      }
    });
    await until('every statement waits or is done', async () => await waitingForLocks(rig.db) >= rig.watched.flying);
    await gate.open();
    await Promise.all(statements);
  } catch (error) {
    await gate.open().catch(() => undefined);
    throw error;
  }
  if (new Set(won).size < won.length) rig.report('of the appends decided on one version one wins', won.join(' '));
};
