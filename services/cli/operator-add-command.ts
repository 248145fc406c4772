import { isActorName } from '../../shared/config/actor-name.ts';
import { addOperator } from '../../shared/delivery/operators.ts';
import type { OperatorRole } from '../../shared/ledger/operators.ts';
import type { Command, OptionSpec } from './command.ts';
import { auditOf, withDesk } from './operator-engine.ts';
import { PASSWORD_OPTIONS, readPassword } from './read-password.ts';
import { Refusal, UsageError } from './refusal.ts';

const ROLES: readonly OperatorRole[] = ['viewer', 'operator', 'admin'];
/** Names that stand in the ledger and the trail for something else. */
const TAKEN = /^(cli|boot|unknown|coordinator|intake|dashboard|standalone|delivery.*)$/i;

export const ACTOR: Record<string, OptionSpec> = { actor: { value: 'A', help: 'who does it: a name or role, as the trail will say (default: cli)' } };
export const ROLE_HELP = 'viewer (reads), operator (also retries, discards, closes, pauses, resumes) or admin (also reads the audit trail)';

/** @throws UsageError where it is no role. */
export const roleOf = (text: string, field: string): OperatorRole => {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) throw new UsageError(`${field} is one of ${ROLES.join(', ')}`, field);
  return role;
};

const nameOf = (name: string): string => {
  if (!isActorName(name) || name.includes(':')) throw new UsageError('NAME must be a short name of letters, at most six digits, . _ or -, since ledger and trail keep it for ever', 'NAME');
  if (TAKEN.test(name)) throw new UsageError(`NAME must not be ${name}: the ledger says that of something else`, 'NAME');
  return name;
};

export const operatorAddCommand: Command = {
  name: 'operator add',
  summary: 'add an operator of the dashboard',
  args: [{ name: 'NAME', help: 'a short name, as the ledger will say; case does not tell two apart' }],
  options: { role: { value: 'R', help: ROLE_HELP }, ...PASSWORD_OPTIONS, ...ACTOR },
  examples: [
    ['operator add ada --role operator', 'asks for the password twice'],
    ['operator add jo --role viewer --generate', 'draws one and prints it once'],
    ['pass show tocsin/ada | npx tocsin operator add ada --role admin', 'reads it from standard input'],
  ],
  run: async (input, io) => {
    const name = nameOf(input.args[0] ?? '');
    const role = roleOf(input.required('role'), '--role');
    const by = auditOf(input);
    const { password, drawn } = await readPassword(input, io, name);
    const added = await withDesk(io, (desk) => addOperator(desk, { name, role, password }, by));
    if (!added) throw new Refusal(`there is an operator ${name} already`, { code: 'name_taken', field: 'NAME', cure: 'take another name; a disabled operator keeps his, so that the trail names one person only' });
    if (input.json) io.out.write(`${JSON.stringify({ name, role, ...(drawn ? { password } : {}) })}\n`);
    else io.out.write(`Added: ${name}, ${role}.\n${drawn ? `\n${password}\n\nThis password is not shown again.\n` : ''}`);
    return 0;
  },
};
