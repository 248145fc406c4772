import { listOperators } from '../../shared/ledger/operators.ts';
import type { Command } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { withLedger } from './ledger-session.ts';
import { table } from './table.ts';

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

export const operatorListCommand: Command = {
  name: 'operator list',
  summary: 'list the operators of the dashboard and their roles',
  args: [],
  options: {},
  examples: [['operator list', 'names, roles, and who is disabled']],
  run: (input, io) => withLedger(io, async (db) => {
    const operators = await listOperators(db);
    if (input.json) {
      io.out.write(`${JSON.stringify({ operators: operators.map(({ name, role, createdAt, passwordChangedAt, disabledAt }) => ({ name, role, created_at: iso(createdAt), password_changed_at: iso(passwordChangedAt), disabled_at: iso(disabledAt) })) })}\n`);
    } else if (operators.length === 0) io.out.write('There is no operator yet: the first start of a dashboard makes one, or `npx tocsin operator add`.\n');
    else io.out.write(`${table(['name', 'role', 'since', 'password of', 'disabled'], operators.map((one) => [one.name, one.role, dateTime(one.createdAt), dateTime(one.passwordChangedAt), one.disabledAt === null ? '-' : dateTime(one.disabledAt)]))}\n`);
    return 0;
  }),
};
