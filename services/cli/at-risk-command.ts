import { listRisks, riskListView } from '../../shared/delivery/at-risk.ts';
import { NEXT_ACTIONS } from '../../shared/domain/next-action.ts';
import type { Command } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { withEngine } from './operator-engine.ts';
import { table } from './table.ts';
import { wholeNumber } from './whole-number.ts';

const LIMIT = 50;

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
  run: (input, io) => withEngine(io, async (engine) => {
    const list = await listRisks(engine, { shown: wholeNumber(input, 'limit', 1_000) ?? LIMIT, search: input.text('search') ?? null });
    if (input.json) {
      io.out.write(`${JSON.stringify(riskListView(list))}\n`);
      return 0;
    }
    if (list.count === 0) {
      io.out.write('Nothing is at risk.\n');
      return 0;
    }
    io.out.write(`${table(['since (UTC)', 'finding', 'notification', 'purpose', 'channels', 'deadline (UTC)', 'next'], list.rows.map((row) => [
      dateTime(row.since), row.kind, row.eventId, row.purpose, row.channels.join('; '), dateTime(row.expiresAt), NEXT_ACTIONS[row.action],
    ]), io.out.isTTY ? io.out.columns() : Number.POSITIVE_INFINITY)}\n${list.count > list.rows.length || list.more ? `\n${list.count} in all${list.more ? ', and more that are newer' : ''}; see them with --limit.\n` : ''}`);
    return 0;
  }),
};
