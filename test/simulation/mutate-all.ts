import type { Mutant } from './mutants.ts';
import { MUTANTS, focusOf } from './mutants.ts';
import type { Hunt, Verdict } from './mutate.ts';
import { tryMutant, trySound } from './mutate.ts';
import { startStatementServer } from './statement-server.ts';
import type { StatementDatabases } from './statement-server.ts';

export interface MutateSettings {
  /** Names or numbers; all where there are none. */
  wanted: readonly string[];
  seed: number;
  /** How many seeds of the simulation, of a focus, and of the statement rounds, before a mistake counts as survived. */
  runs: { simulation: number; focus: number; statements: number };
  json: boolean;
  say: (text: string) => void;
  progress: (text: string) => void;
}

interface Line { number: number; name: string; verdict: Verdict; place: string }

const isWanted = (wanted: readonly string[]) => (mutant: Mutant): boolean => wanted.length === 0 || wanted.includes(mutant.name) || wanted.includes(String(mutant.number));

const placeOf = ({ on, focus }: Pick<Hunt, 'on' | 'focus'>): string => (on === 'statements' ? 'statements' : focus === undefined ? 'simulation' : `simulation --focus ${focus}`);

const huntOf = (mutant: Mutant, { seed, runs }: MutateSettings, server: StatementDatabases | undefined): Hunt => {
  const focus = focusOf(mutant);
  return { on: mutant.on, focus, server, seed, runs: mutant.on === 'statements' ? runs.statements : focus === undefined ? runs.simulation : runs.focus };
};

/** The hunts that the chosen mutants go on, each once. */
const huntsOf = (chosen: readonly Mutant[], settings: MutateSettings, server: StatementDatabases | undefined): Hunt[] => {
  const hunts = new Map<string, Hunt>();
  for (const mutant of chosen) {
    const hunt = huntOf(mutant, settings, server);
    hunts.set(placeOf(hunt), hunt);
  }
  return [...hunts.values()];
};

const WHAT: Record<Exclude<Verdict['kind'], 'caught'>, (verdict: Verdict) => string> = {
  survived: () => 'SURVIVED',
  does_not_fit: (verdict) => `DOES NOT FIT ${(verdict as { file: string }).file}`,
  crashed: (verdict) => `CRASHED ${(verdict as { error: string }).error.split('\n').find((line) => /Error/.test(line))?.trim().slice(0, 100) ?? ''}`,
};
const runsOf = (verdict: Verdict): string => ('runs' in verdict ? String(verdict.runs) : '-');

const tableOf = (lines: readonly Line[]): string => {
  const rows = [
    ['No', 'Mistake', 'Caught by', 'Seed', 'Runs', 'In'],
    ...lines.map(({ number, name, verdict, place }) => [
      String(number), name, verdict.kind === 'caught' ? verdict.invariant : WHAT[verdict.kind](verdict), verdict.kind === 'caught' ? String(verdict.seed) : '-', runsOf(verdict), place,
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length))) ?? [];
  return rows.map((row) => row.map((cell, column) => ([0, 3, 4].includes(column) ? cell.padStart(widths[column] as number) : cell.padEnd(widths[column] as number))).join('  ').trimEnd()).join('\n');
};

/** The simulation and the statement rounds go on side by side; the rounds one after the other, for they share a server. */
const inTwoLanes = async <Item extends Pick<Hunt, 'on'>>(items: readonly Item[], each: (item: Item) => Promise<void>): Promise<void> => {
  const lane = async (on: Hunt['on']): Promise<void> => { for (const item of items) if (item.on === on) await each(item); };
  await Promise.all([lane(undefined), lane('statements')]);
};

/** The product without a mistake, under the seeds that the mistakes will be looked for with. */
const proveSound = async (hunts: readonly Hunt[], settings: MutateSettings): Promise<boolean> => {
  let sound = true;
  await inTwoLanes(hunts, async (hunt) => {
    if (!sound) return;
    const place = placeOf(hunt);
    settings.progress(`without a mistake: ${place}, ${hunt.runs} runs`);
    const verdict = await trySound(hunt);
    const clean = verdict.kind === 'survived';
    sound &&= clean;
    const last = hunt.seed + hunt.runs - 1;
    if (settings.json) settings.say(`${JSON.stringify({ sound: clean, in: place, from: hunt.seed, to: last, ...(clean ? {} : { verdict }) })}\n`);
    else settings.say(`without a mistake, ${place}, seeds ${hunt.seed} to ${last}: ${clean ? 'no promise was broken' : JSON.stringify(verdict)}\n`);
  });
  return sound;
};

const plantAll = async (chosen: readonly Mutant[], settings: MutateSettings, server: StatementDatabases | undefined): Promise<Line[]> => {
  const lines: Line[] = [];
  let begun = 0;
  await inTwoLanes(chosen, async (mutant) => {
    begun += 1;
    const title = `${begun} of ${chosen.length}: ${mutant.number} ${mutant.name}`;
    settings.progress(title);
    const hunt = huntOf(mutant, settings, server);
    const verdict = await tryMutant(mutant, hunt.runs, hunt.seed, server);
    settings.progress(`${title}: ${verdict.kind === 'caught' ? `${verdict.invariant}, seed ${verdict.seed}` : WHAT[verdict.kind](verdict)}`);
    lines.push({ number: mutant.number, name: mutant.name, verdict, place: placeOf(hunt) });
    if (settings.json) settings.say(`${JSON.stringify({ number: mutant.number, mutant: mutant.name, in: placeOf(hunt), ...verdict })}\n`);
  });
  return lines.sort((one, other) => one.number - other.number || one.name.localeCompare(other.name));
};

/**
 * Plants the chosen mistakes one at a time, after the product itself was found clean under the same seeds. Resolves to the exit
 * code: 0 where each was caught by name, 1 where one was not or the product is not clean, 2 where nothing of that name is known.
 */
export const mutateAll = async (settings: MutateSettings): Promise<number> => {
  const chosen = MUTANTS.filter(isWanted(settings.wanted)).sort((one, other) => one.number - other.number);
  const unknown = settings.wanted.filter((name) => !MUTANTS.some(isWanted([name])));
  if (unknown.length > 0) {
    settings.say(`no mistake is called ${unknown.join(', ')}; there are ${MUTANTS.map((mutant) => `${mutant.number} ${mutant.name}`).join(', ')}\n`);
    return 2;
  }
  const server = chosen.some((mutant) => mutant.on === 'statements') ? await startStatementServer() : undefined;
  try {
    if (!(await proveSound(huntsOf(chosen, settings, server), settings))) return 1;
    const lines = await plantAll(chosen, settings, server);
    settings.progress('');
    const missed = lines.filter(({ verdict }) => verdict.kind !== 'caught');
    if (!settings.json) settings.say(`\n${tableOf(lines)}\n\n${lines.length - missed.length} of ${lines.length} caught by name${missed.length > 0 ? `; not caught: ${missed.map((line) => line.name).join(', ')}` : ''}\n`);
    return missed.length > 0 ? 1 : 0;
  } finally {
    await server?.stop();
  }
};
