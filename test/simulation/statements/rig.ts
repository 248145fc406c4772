import { fileURLToPath } from 'node:url';
import { ulid } from 'ulid';
import { loadTemplates } from '../../../shared/content/template-file.ts';
import { acceptNotification } from '../../../shared/delivery/accept-notification.ts';
import { inputFor } from '../../../shared/delivery/decide-and-append.ts';
import { createEngine } from '../../../shared/delivery/engine.ts';
import type { Engine } from '../../../shared/delivery/engine.ts';
import type { Command } from '../../../shared/domain/decide.ts';
import { decide } from '../../../shared/domain/decide.ts';
import type { Database } from '../../../shared/ledger/database.ts';
import { createPostgresLedger } from '../../../shared/ledger/postgres-ledger.ts';
import type { Append } from '../../../shared/ledger/rows.ts';
import { toAppend } from '../../../shared/ledger/rows.ts';
import { publishVersions } from '../../../shared/ledger/versions.ts';
import { parseKeyRing } from '../../../shared/security/key-ring.ts';
import { createLogger } from '../../../shared/telemetry/logger.ts';
import { carriersFor } from '../../../shared/transports/carriers.ts';
import type { Seeded } from '../../audit/seeded.ts';
import { untiringPolicies, urgentRequest } from '../../support/test-engine.ts';
import { stream } from '../random.ts';
import type { Report, WatchedDatabase } from './watched-database.ts';
import { watchDatabase } from './watched-database.ts';

export const START = Date.UTC(2026, 0, 5, 12);

/** What a round plays with: the product's use cases and statements on a real database, everything else in the hand of a seed. */
export interface Rig {
  seed: number;
  random: Seeded;
  report: Report;
  /** The plain database, for looking at what stands. */
  db: Database;
  engine: Engine;
  watched: WatchedDatabase;
  now: () => number;
  setNow: (at: number) => void;
  /** Another process of the deployment: its own groups, on the same connections. */
  process: () => Engine;
}

const shipped = (folder: string): string => fileURLToPath(new URL(`../../../${folder}`, import.meta.url));

/** Publishes what is shipped, once for a database; without throttles, since all of it goes to one phone. */
export const publishShipped = async (db: Database): Promise<void> => {
  const templates = loadTemplates(shipped('templates')).map((template) => ({ name: template.name, version: template.version, definition: template }));
  await publishVersions(db, { policies: untiringPolicies(), templates, now: START });
};

/** The surroundings of one round of a seed; each round has a randomness of its own. */
export const openRig = (db: Database, { seed, round }: { seed: number; round: string }, report: Report): Rig => {
  let at = START + seed * 1_000;
  const minted = stream(seed, round, 'mint');
  const watched = watchDatabase(db, report);
  const engine = createEngine({
    db: watched.db, ring: parseKeyRing(`k1:${Buffer.alloc(32, 7).toString('base64')}`), carriers: carriersFor({ sms: 'twilio', email: 'smtp' }),
    sender: { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' }, log: createLogger({ level: 'silent', service: 'statements', redactPaths: [] }),
    now: () => at, monotonic: () => at, random: stream(seed, round, 'engine').next, mint: { eventId: (now) => `evt_${ulid(now, minted.next)}`, salt: () => 'ab'.repeat(32) },
  });
  return {
    seed, report, db, engine, watched, random: stream(seed, round), now: () => at, setNow: (to) => { at = to; },
    process: () => createEngine({ ...engine, ledger: createPostgresLedger(watched.db) }),
  };
};

let keys = 0;

/** Accepts an urgent intent through an engine; resolves to its event id. */
export const acceptOne = async (rig: Rig, engine: Engine = rig.engine): Promise<string> => {
  keys += 1;
  const outcome = await acceptNotification(engine, urgentRequest('03', { idempotencyKey: `statements-${rig.seed}-${keys}`, fingerprintOf: { keys }, requestId: 'accept' }));
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${outcome.kind}`);
  return outcome.eventId;
};

export const acceptMany = async (rig: Rig, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await acceptOne(rig));
  return ids;
};

export const loadedOf = async (rig: Rig, eventId: string) => {
  const found = await rig.engine.load(eventId);
  if (!found) throw new Error(`not loaded: ${eventId}`);
  return found;
};

/** What a command comes to on the state as it stands now; null where it comes to nothing. */
export const decided = async (rig: Rig, eventId: string, command: Command, requestId = 'r'): Promise<Append | null> => {
  const before = await loadedOf(rig, eventId);
  const bound = await rig.engine.versions.bind(before.state.purpose, before.state.policyVersion);
  const decision = decide(command, before.state, inputFor(rig.engine, before, bound));
  if (decision.transitions.length === 0) return null;
  return toAppend(decision, { before: before.state, prevHash: before.headHash, provenance: { actor: 'statements', requestId } });
};

/** Decides and appends with nobody else about. */
export const carryOut = async (rig: Rig, eventId: string, command: Command): Promise<void> => {
  const append = await decided(rig, eventId, command);
  if (!append || !(await rig.engine.append(append))) throw new Error(`${command.kind} came to nothing for ${eventId}`);
};

const PATIENCE_MS = 20_000;

/** Asks again until it holds; gives up, with an error, where it never does. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const givesUpAt = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > givesUpAt) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => { setImmediate(resolve); });
  }
};

/** How many sessions of the server wait for a lock; pg_locks shows that to every role. */
export const waitingForLocks = async (db: Database): Promise<number> => {
  const { rows: [row] } = await db.pool.query<{ waiting: number }>("SELECT count(DISTINCT pid)::integer AS waiting FROM pg_locks WHERE NOT granted");
  return row?.waiting ?? 0;
};
