import { fold } from '../../shared/domain/evolve.ts';
import { evolve } from '../../shared/domain/evolve.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import type { PublicStatus } from '../../shared/domain/words.ts';
import { createDatabaseClock } from '../../shared/ledger/database-clock.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { isDatabaseAway } from '../../shared/ledger/database.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { Command } from './command.ts';
import { eventIdOf } from './command.ts';
import type { Entry } from './ledger-session.ts';
import { notFound, toEntry, toStamped, withLedger } from './ledger-session.ts';
import { UsageError } from './refusal.ts';
import type { Screen } from './watch-screen.ts';
import { openScreen } from './watch-screen.ts';

const REFRESH_MS = 500;

type Until = 'settled' | 'final' | 'forever';
const UNTIL: readonly Until[] = ['settled', 'final', 'forever'];
const FINAL: ReadonlySet<PublicStatus> = new Set(['sent', 'delivered', 'undelivered', 'unknown', 'expired', 'closed', 'suppressed', 'policy_rejected', 'shadowed']);

const untilOf = (text: string | undefined): Until => {
  const until = UNTIL.find((one) => one === (text ?? 'final'));
  if (!until) throw new UsageError(`--until must be one of ${UNTIL.join(', ')}`, '--until');
  return until;
};

const isDone = (state: NotificationState, until: Until): boolean => {
  if (until === 'forever') return false;
  const settled = state.settledAt !== null || state.rejected !== null;
  return settled || (until === 'final' && FINAL.has(publicStatus(state)));
};

interface Watched { state: NotificationState; entries: Entry[] }

/** Folds what is new: one read by primary key, from the version that is known. */
const readOn = async (db: Database, known: Watched): Promise<Entry[]> => {
  const fresh = (await readEntries(db, known.state.eventId, known.state.version)).map(toEntry);
  known.state = fresh.map(toStamped).reduce(evolve, known.state);
  known.entries.push(...fresh);
  return fresh;
};

interface Watch { db: Database; screen: Screen; until: Until; now: () => number; wait: (ms: number) => Promise<void>; signal: AbortSignal }

/** Reads and shows until done or stopped. A database that goes away is said and waited for; at the start it must be there. */
const follow = async (watched: Watched, { db, screen, until, now, wait, signal }: Watch): Promise<boolean> => {
  let notice: string | null = null;
  while (!signal.aborted) {
    try {
      const fresh = await readOn(db, watched);
      if (watched.state.version === 0) throw notFound(watched.state.eventId);
      if (notice !== null) screen.say('the database answers again');
      notice = null;
      screen.add(fresh);
    } catch (error) {
      if (!isDatabaseAway(error) || watched.state.version === 0) throw error;
      const lost = notice === null;
      notice = 'the database does not answer; this goes on as soon as it does';
      if (lost) screen.say(notice);
    }
    screen.draw(watched.state, watched.entries, { now: now(), notice });
    if (isDone(watched.state, until)) return true;
    await wait(REFRESH_MS);
  }
  return false;
};

export const watchCommand: Command = {
  name: 'watch',
  summary: 'draw the timeline of a notification while it happens',
  args: [{ name: 'EVENT', help: 'event id, as the receipt says' }],
  options: { until: { value: 'U', help: 'when to stop: settled, final (the public status is one of the last ones; default) or forever' } },
  examples: [
    ['watch evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a picture that redraws itself; Ctrl-C stops watching, the notification goes on'],
    ['watch evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --until settled --json', 'one JSON line for every new entry, and for every change of the public status'],
  ],
  run: async (input, io) => {
    const eventId = eventIdOf(input);
    const until = untilOf(input.text('until'));
    return withLedger(io, async (db) => {
      const clock = createDatabaseClock(db);
      await clock.refresh();
      const screen = openScreen(io, { json: input.json, eventId });
      try {
        const done = await follow({ state: fold(eventId, []), entries: [] }, { db, screen, until, now: clock.now, wait: io.wait, signal: io.signal });
        screen.end(done ? 'done' : 'stopped');
        return 0;
      } finally {
        screen.restore();
      }
    });
  },
};
