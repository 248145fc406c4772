import { parseArgs } from 'node:util';
import { FAULT_POINTS } from '../../shared/telemetry/fault-points.ts';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import type { BackendName } from './surroundings.ts';

/** The command line was not understood; the message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A whole number of the command line. @throws UsageError. */
export const wholeNumber = (name: string, text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number`);
  return Number(text);
};

/** `redis`, `postgres` or `both`. @throws UsageError. */
export const backendsOf = (text: string): BackendName[] => {
  if (text === 'both') return ['postgres', 'redis'];
  if (text === 'redis' || text === 'postgres') return [text];
  throw new UsageError('--backend must be redis, postgres or both');
};

/** Names of points, separated by commas. @throws UsageError. */
export const pointsOf = (text: string): FaultPoint[] => text.split(',').filter((name) => name !== '').map((name) => {
  const point = FAULT_POINTS.find((one) => one === name);
  if (!point) throw new UsageError(`--points: ${name} is not one of ${FAULT_POINTS.join(', ')}`);
  return point;
});

/** Reads a command line of `--name value` and `--flag`. @throws UsageError. */
export const readOptions = <Name extends string, Flag extends string>(argv: string[], values: Record<Name, string>, flags: readonly Flag[]): { values: Record<Name, string>; flags: Record<Flag, boolean> } => {
  const options = Object.fromEntries([
    ...Object.entries<string>(values).map(([name, value]) => [name, { type: 'string', default: value }] as const),
    ...flags.map((name) => [name, { type: 'boolean', default: false }] as const),
  ]);
  try {
    const read = parseArgs({ args: argv, options, strict: true }).values as Record<string, string | boolean>;
    return {
      values: Object.fromEntries(Object.keys(values).map((name) => [name, String(read[name])])) as Record<Name, string>,
      flags: Object.fromEntries(flags.map((name) => [name, read[name] === true])) as Record<Flag, boolean>,
    };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
};

/** Runs a command: exit 0 clean, 1 something was found or went wrong, 2 usage. What still runs at a signal is killed by `onSignal`. */
export const runCommand = async (run: () => Promise<number>, onSignal: () => Promise<void>): Promise<void> => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { void onSignal().finally(() => process.exit(1)); });
  try {
    process.exitCode = await run();
  } catch (error) {
    process.stderr.write(`${(error as Error).name}: ${(error as Error).message}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
};
