import type { Replayed } from '../../shared/delivery/replay-message.ts';
import type { Replay } from '../../shared/delivery/replay-render.ts';
import { table } from './table.ts';

interface Line { messages: number; same: number; differs: number; fails: number; drifted: number; not_recorded: number; segments: { from: number; to: number } | null; missing: Record<string, number> }

/** What a replay came to, by template; a fixed number of figures however many messages there are. */
export interface ReplaySum { notifications: number; templates: Map<string, Line>; passedOver: Record<Extract<Replay, { kind: 'passed_over' }>['why'], number> }

export const openSum = (): ReplaySum => ({ notifications: 0, templates: new Map(), passedOver: { destroyed: 0, no_address: 0, not_compared: 0 } });

const addMessage = (line: Line, { verdict, recorded, segments, missing }: Replayed): void => {
  line.messages += 1;
  line[verdict] += 1;
  if (recorded === 'drifted') line.drifted += 1;
  if (recorded === 'unknown') line.not_recorded += 1;
  for (const name of missing) line.missing[name] = (line.missing[name] ?? 0) + 1;
  if (segments) line.segments = { from: (line.segments?.from ?? 0) + segments.from, to: (line.segments?.to ?? 0) + segments.to };
};

/** Adds what was found of one notification. */
export const addReplays = (sum: ReplaySum, found: readonly Replay[]): void => {
  sum.notifications += 1;
  for (const one of found) {
    if (one.kind === 'passed_over') sum.passedOver[one.why] += 1;
    else {
      const name = `${one.message.template} ${one.message.from} -> ${one.message.to}`;
      const line = sum.templates.get(name) ?? { messages: 0, same: 0, differs: 0, fails: 0, drifted: 0, not_recorded: 0, segments: null, missing: {} };
      sum.templates.set(name, line);
      addMessage(line, one.message);
    }
  }
};

/** Whether anything was found that somebody must look at. */
export const isFaulty = ({ templates }: ReplaySum): boolean => [...templates.values()].some(({ fails, drifted }) => fails > 0 || drifted > 0);

/** Whether no message at all was compared, from which nothing follows about a candidate. */
export const isEmpty = ({ templates }: ReplaySum): boolean => templates.size === 0;

export const sumJson = (sum: ReplaySum) => ({ kind: 'sum', notifications: sum.notifications, passed_over: sum.passedOver, templates: [...sum.templates].map(([template, line]) => ({ template, ...line })) });

const missingOf = ({ missing }: Line): string => Object.entries(missing).map(([name, count]) => `${name} (${count})`).join(', ') || '-';

/** The sum for people. */
export const sumText = (sum: ReplaySum): string => {
  const rows = [...sum.templates].map(([template, line]) => [
    template, String(line.messages), String(line.same), String(line.differs), String(line.fails), line.segments ? `${line.segments.from} -> ${line.segments.to}` : '-', String(line.drifted), missingOf(line),
  ]);
  const { destroyed, no_address: noAddress, not_compared: notCompared } = sum.passedOver;
  const passed = [...(destroyed > 0 ? [`${destroyed} no longer retained`] : []), ...(noAddress > 0 ? [`${noAddress} without an address`] : []), ...(notCompared > 0 ? [`${notCompared} of another version or template`] : [])];
  return [
    `${sum.notifications} notification${sum.notifications === 1 ? '' : 's'}${passed.length > 0 ? `; passed over: ${passed.join(', ')}` : ''}`,
    ...(rows.length > 0 ? ['', table(['template', 'messages', 'same', 'differ', 'fail', 'segments', 'drifted', 'missing variables'], rows)] : []),
  ].join('\n');
};
