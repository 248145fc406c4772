import { expect } from '@jest/globals';
import type { EntryRecord } from '../../shared/ledger/reads.ts';
import type { Arena } from './arena.ts';
import type { Held } from './messages.ts';
import type { Racer } from './racer.ts';

/** One side of a race: the process, and its append that was held between load and append. */
export interface Side { racer: Racer; held: Held }

/** What a loser told of its reload, and what it appended after it. */
export interface Reload { found: number; cameTo: string[]; entries: EntryRecord[] }

/** Both sides of a race once both have loaded and decided; they stand on the same version and are two processes. */
export const bothHeld = async (arena: Arena, eventId: string, nth: { a: number; b: number } = { a: 1, b: 1 }): Promise<[Side, Side]> => {
  const [a, b] = await Promise.all([arena.a.holds(eventId, nth.a), arena.b.holds(eventId, nth.b)]);
  expect(a.decidedOn).toBe(b.decidedOn);
  expect(arena.a.pid).not.toBe(arena.b.pid);
  expect((await arena.state(eventId)).version).toBe(a.decidedOn);
  return [{ racer: arena.a, held: a }, { racer: arena.b, held: b }];
};

/** The entries of an event: their versions have no gap, and each hash stands on the one before. */
export const gaplessEntries = async (arena: Arena, eventId: string): Promise<EntryRecord[]> => {
  const entries = await arena.entries(eventId);
  expect(entries.map(({ version }) => version)).toEqual(entries.map((_, index) => index + 1));
  expect(entries.slice(1).map(({ prevHash }) => Buffer.from(prevHash).toString('hex'))).toEqual(entries.slice(0, -1).map(({ hash }) => Buffer.from(hash).toString('hex')));
  return entries;
};

/** The request id before any reload. */
const requestOf = ({ requestId }: Held): string => requestId.replace(/\+reloaded-from-v\d+$/, '');

const ours = (held: Held) => (line: Record<string, unknown>): boolean =>
  line['event_id'] === held.eventId && line['actor'] === held.actor && line['request_id'] === requestOf(held) && line['decided_on'] === held.decidedOn;

/**
 * The loser's reload: its log says on which version it had decided, that the append was refused for it, which version it found, and
 * what it came to; and the ledger holds just that under its request id, which names the version it had lost on, or, where that is
 * nothing, a row of the lost race.
 */
export const reloadOf = async (arena: Arena, { racer, held }: Side): Promise<Reload> => {
  const isOurs = ours(held);
  const lost = await racer.tells('logged', ({ line }) => line['event'] === 'append.lost' && isOurs(line));
  const reloaded = await racer.tells('logged', ({ line }) => line['event'] === 'append.reloaded' && isOurs(line));
  const found = Number(reloaded.line['found']);
  const cameTo = reloaded.line['came_to'] as string[];
  expect(lost.line).toMatchObject({ event_id: held.eventId, decided_on: held.decidedOn, actor: held.actor });
  expect(found).toBeGreaterThan(held.decidedOn);
  const entries = (await gaplessEntries(arena, held.eventId)).filter(({ actor, requestId }) => actor === held.actor && requestId.startsWith(requestOf(held)));
  expect(entries.map(({ kind }) => kind)).toEqual(cameTo);
  expect(new Set(entries.map(({ requestId }) => requestId))).toEqual(new Set(cameTo.length > 0 ? [`${requestOf(held)}+reloaded-from-v${held.decidedOn}`] : []));
  expect(entries[0]?.version ?? found + 1).toBe(found + 1);
  const recorded = (await arena.lostRaces(held.eventId)).filter(({ actor, requestId }) => actor === held.actor && requestId === requestOf(held));
  expect(recorded).toMatchObject(cameTo.length > 0 ? [] : [{ decidedOn: held.decidedOn, found }]);
  return { found, cameTo, entries };
};

/**
 * Who won: the ledger's next version after the one both stood on is the winner's, by actor and request id. The loser reloaded.
 */
export const ranked = async (arena: Arena, sides: readonly [Side, Side]): Promise<{ winner: Side; loser: Side; reload: Reload }> => {
  const [one, other] = sides;
  const next = await Promise.race(sides.map(({ racer, held }) => racer.tells('appended', ({ eventId, requestId }) => eventId === held.eventId && requestId === held.requestId)));
  const [winner, loser] = next.requestId === one.held.requestId && next.actor === one.held.actor ? [one, other] : [other, one];
  const reload = await reloadOf(arena, loser);
  const entry = (await gaplessEntries(arena, winner.held.eventId))[winner.held.decidedOn];
  expect(entry).toMatchObject({ version: winner.held.decidedOn + 1, actor: winner.held.actor, requestId: winner.held.requestId });
  expect(winner.held.actor).not.toBe(loser.held.actor);
  return { winner, loser, reload };
};

/** How many entries of that kind an event has. */
export const countOf = (entries: readonly EntryRecord[], kind: string): number => entries.filter((entry) => entry.kind === kind).length;
