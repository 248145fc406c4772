import type { RiskList } from '../../shared/delivery/at-risk.ts';
import { listRisks, riskListView } from '../../shared/delivery/at-risk.ts';
import { NEXT_ACTIONS } from '../../shared/domain/next-action.ts';
import type { Command } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { nothingFound } from './nothing-found.ts';
import { withEngine } from './operator-engine.ts';
import { table } from './table.ts';
import { wholeNumber } from './whole-number.ts';

const LIMIT = 50;
const LOOKED_IN_PART = 'Nothing was found among the oldest of what may be at risk; there are more, which were not looked at.\n';

const told = ({ rows, count, more }: RiskList, width: number): string => `${table(['since (UTC)', 'finding', 'notification', 'purpose', 'channels', 'deadline (UTC)', 'next'], rows.map((row) => [
  dateTime(row.since), row.kind, row.eventId, row.purpose, row.channels.join('; '), dateTime(row.expiresAt), NEXT_ACTIONS[row.action],
]), width)}\n${count > rows.length || more ? `\n${count} in all${more ? ', and more that are newer' : ''}; see them with --limit.\n` : ''}`;

export const atRiskCommand: Command = {
  name: 'at-risk',
  summary: 'list what approaches its deadline without a way to its recipient, and what else stopped, oldest first',
  args: [],
  options: {
    search: { value: 'S', help: 'only that event id, recipient reference or request id' },
    limit: { value: 'N', help: `how many at most (default: ${LIMIT})` },
  },
  examples: [
    ['at-risk', 'what somebody has to look at now, and what to do next'],
    ['at-risk --search oncall-02 --json', 'what is found of one recipient, for a program'],
  ],
  run: async (input, io) => {
    const shown = wholeNumber(input, 'limit', 1_000) ?? LIMIT;
    const list = await withEngine(io, (engine) => listRisks(engine, { shown, search: input.text('search') ?? null }));
    if (input.json) io.out.write(`${JSON.stringify(riskListView(list))}\n`);
    else if (list.count === 0) io.out.write(list.more ? LOOKED_IN_PART : nothingFound(input, ['search'], { none: 'Nothing is at risk.', found: 'notification at risk' }));
    else io.out.write(told(list, io.out.isTTY ? io.out.columns() : Number.POSITIVE_INFINITY));
    return 0;
  },
};
