import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { evolve } from '../../shared/domain/evolve.ts';
import type { Stamped } from '../../shared/domain/transitions.ts';
import { appendGroup } from '../../shared/ledger/append-group.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { lives } from './verify-support.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heapMb = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1024 ** 2;
};

const EACH = 100;

/** Gives each of them so many more entries, in one statement. */
const lengthen = async (engine: Engine, ids: readonly string[]): Promise<void> => {
  const appends = await Promise.all(ids.map(async (eventId) => {
    const loaded = await engine.load(eventId);
    if (!loaded) throw new Error('not loaded');
    const transitions = Array.from({ length: EACH }, (_, turn): Stamped => ({
      at: loaded.requestedAt + 60_000 + turn, transition: { kind: 'StatusReadFailed', details: { attempt: `${eventId}.sms.1`, source: 'poll', reason: 'read_failed', next_poll_at: null } },
    }));
    const state = transitions.reduce(evolve, loaded.state);
    return toAppend({ state, transitions, requests: [] }, { before: loaded.state, prevHash: loaded.headHash, provenance: { actor: 'test', requestId: 'r' } });
  }));
  await appendGroup(engine.db, appends);
};

test('a ledger of some hundred notifications and over 20,000 entries verifies clean in flat memory', async () => {
  const database = await createTestDatabase();
  const engine = await createTestEngine({ url: database.url });
  try {
    const ids = await lives(engine, 210);
    for (let from = 0; from < ids.length; from += 70) await lengthen(engine, ids.slice(from, from + 70));
    const faults = collectFaults();
    const samples: number[] = [];
    const before = heapMb();
    const counts = await verifyNotifications(engine.db, { faults, ring: engine.ring, onProgress: () => samples.push(heapMb()) });
    expect(faults.list).toEqual([]);
    expect(counts).toMatchObject({ notifications: 210 });
    expect(counts.entries).toBeGreaterThan(20_000);
    expect(samples.length).toBeGreaterThan(1);
    const grown = Math.max(...samples) - before;
    const held = await engine.db.query<{ body: string; hash: Buffer }>({ name: 'everything', text: 'SELECT event_id, body, hash FROM ledger_entry' }, []);
    const everything = heapMb() - before;
    expect(held.length).toBe(counts.entries);
    expect(grown).toBeLessThan(everything / 4);
  } finally {
    await engine.close();
    await database.drop();
  }
}, 120_000);
