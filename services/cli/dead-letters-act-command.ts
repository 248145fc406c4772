import { requestDeadLetters } from '../../shared/delivery/dead-letter-requests.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { countOpenRequests, countResults } from '../../shared/ledger/dead-letter-requests.ts';
import type { DeadLetterRecord } from '../../shared/ledger/dead-letters.ts';
import type { Command, Input } from './command.ts';
import { filterOf, foreseen, readAll, SELECTION } from './dead-letter-selection.ts';
import type { Io } from './io.ts';
import { createProgress } from './ledger-progress.ts';
import { actorOf, auditOf, withEngine } from './operator-engine.ts';
import { reasonOf } from './reason-option.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

const BATCH = 500;
const LOOK_EVERY_MS = 200;
/** After this long without one being done nobody seems to be doing them. */
const GIVE_UP_MS = 15_000;

type Action = 'retry' | 'discard';
type Counts = Record<string, number>;

const chosen = async (input: Input, engine: Engine): Promise<DeadLetterRecord[]> => {
  const [id] = input.args;
  const narrowed = ['channel', 'since', 'cause'].some((name) => input.text(name) !== undefined);
  if (id !== undefined && (input.flag('all') || narrowed)) throw new UsageError('give either an ID, or --all with --channel, --since or --cause', 'ID');
  if (id === undefined && !input.flag('all')) throw new UsageError('give the ID of one dead letter, or --all (with --channel, --since, --cause to narrow it)', 'ID');
  const rows = await readAll(engine, filterOf(input, engine.now()));
  if (rows.length === 0 && id !== undefined) throw new Refusal('no open dead letter has that number', { code: 'not_found', field: 'ID', cure: 'see `npx tocsin dead-letters list`, and `dead-letters show` for one that is resolved' });
  return rows;
};

const add = (counts: Counts, name: string, by = 1): void => { counts[name] = (counts[name] ?? 0) + by; };

const overridesOf = (input: Input) => ({ evenIfDelivered: input.flag('even-if-delivered'), acceptDuplicate: input.flag('accept-duplicate') });

const preview = async (engine: Engine, rows: readonly DeadLetterRecord[], { action, input }: { action: Action; input: Input }): Promise<Counts> => {
  const counts: Counts = {};
  if (action === 'discard') return rows.length === 0 ? counts : { discarded: rows.length };
  for (let from = 0; from < rows.length; from += BATCH) {
    for (const refusal of await foreseen(engine, rows.slice(from, from + BATCH), overridesOf(input))) add(counts, refusal ?? 'retried');
  }
  return counts;
};

/** Waits until a coordinator has carried out what was asked. False where nothing more seems to be done. */
const untilHandled = async (engine: Engine, ids: readonly string[], io: Io): Promise<boolean> => {
  const progress = createProgress(io);
  let left = await countOpenRequests(engine.db, ids);
  for (let quietMs = 0; left > 0 && quietMs < GIVE_UP_MS && !io.signal.aborted; quietMs += LOOK_EVERY_MS) {
    progress.show(`${ids.length - left} of ${ids.length} done`, (ids.length - left) / ids.length);
    await io.wait(LOOK_EVERY_MS);
    const now = await countOpenRequests(engine.db, ids);
    if (now < left) quietMs = 0;
    left = now;
  }
  progress.clear();
  return left === 0;
};

const carryOut = async (engine: Engine, rows: readonly DeadLetterRecord[], { action, input, io }: { action: Action; input: Input; io: Io }): Promise<Counts> => {
  const request = { action, actor: actorOf(input), reason: reasonOf(input), overrides: overridesOf(input), audit: auditOf(input) };
  const ids = rows.map((row) => String(row.id));
  for (let from = 0; from < rows.length; from += BATCH) await requestDeadLetters(engine, rows.slice(from, from + BATCH), request);
  if (!(await untilHandled(engine, ids, io))) {
    throw new Refusal(`it is recorded, and ${await countOpenRequests(engine.db, ids)} of ${ids.length} still wait for a coordinator`, {
      code: 'waiting', cure: 'start a coordinator (npm start runs one): it carries out what is recorded; running this again is harmless',
    });
  }
  return countResults(engine.db, ids, action);
};

const DONE: ReadonlySet<string> = new Set(['retried', 'discarded']);

const told = (counts: Counts, verb: string): string => {
  const names = Object.keys(counts).sort((one, other) => Number(DONE.has(other)) - Number(DONE.has(one)) || one.localeCompare(other));
  return names.length === 0 ? 'No dead letter fits.' : table([verb, 'count'], names.map((name) => [DONE.has(name) ? name : `refused: ${name}`, String(counts[name])]));
};

const act = (action: Action): Command['run'] => (input, io) => withEngine(io, async (engine) => {
  reasonOf(input);
  actorOf(input);
  const rows = await chosen(input, engine);
  const isPreview = !input.flag('yes');
  const counts = isPreview ? await preview(engine, rows, { action, input }) : await carryOut(engine, rows, { action, input, io });
  const refused = Object.keys(counts).filter((name) => !DONE.has(name)).length;
  // A preview is refused where nothing at all would come of it.
  const isRefused = refused > 0 && (!isPreview || refused === Object.keys(counts).length);
  if (input.json) io.out.write(`${JSON.stringify({ action, done: !isPreview, dead_letters: rows.length, results: counts })}\n`);
  else io.out.write(`${told(counts, isPreview ? 'would be' : 'result')}\n${isPreview && rows.length > 0 ? '\nNothing was done yet: say --yes to do it.\n' : ''}`);
  return isRefused ? 1 : 0;
});

const common = {
  args: [{ name: 'ID', help: 'number of the dead letter, as `dead-letters list` shows it; or --all', optional: true }],
  options: {
    all: { help: 'every open dead letter, or those that the options below leave' },
    ...SELECTION,
    reason: { value: 'R', help: 'why: a code (provider_trouble, incident, checked, …), or a sentence, which is kept sealed' },
    actor: { value: 'A', help: 'who does it: a name or role, as the ledger will say (default: cli)' },
    yes: { help: 'do it; without it only what would come of it is shown' },
  },
};

export const deadLettersRetryCommand: Command = {
  name: 'dead-letters retry',
  summary: 'retry dead letters; shows first what would come of it',
  ...common,
  options: {
    ...common.options,
    'even-if-delivered': { help: 'also where another channel was delivered; recorded with the retry' },
    'accept-duplicate': { help: 'also where another channel may have reached the person; recorded with the retry' },
  },
  examples: [
    ['dead-letters retry 12 --reason checked --yes', 'retry one'],
    ['dead-letters retry --all --cause provider_auth --reason provider_trouble', 'see what a retry of all of one cause would come to'],
    ['dead-letters retry --all --cause provider_auth --reason provider_trouble --yes', 'retry them; again is harmless'],
  ],
  run: act('retry'),
};

export const deadLettersDiscardCommand: Command = {
  name: 'dead-letters discard',
  summary: 'take dead letters off the list, with a reason; shows first which',
  ...common,
  examples: [['dead-letters discard --all --since 7d --reason over --yes', 'nothing is sent; the ledger stays as it is']],
  run: act('discard'),
};
