import { changeOperatorAs } from '../../shared/delivery/operators.ts';
import type { OperatorChange } from '../../shared/delivery/operators.ts';
import type { Command, Input } from './command.ts';
import type { Io } from './io.ts';
import { ACTOR, ROLE_HELP, roleOf } from './operator-add-command.ts';
import { auditOf, withDesk } from './operator-engine.ts';
import { PASSWORD_OPTIONS, readPassword } from './read-password.ts';
import { Refusal } from './refusal.ts';

const NAME = { name: 'NAME', help: 'as `operator list` shows it' };

const change = async (input: Input, io: Io, what: OperatorChange): Promise<{ name: string; sessions_ended: number }> => {
  const [name = ''] = input.args;
  const outcome = await withDesk(io, (desk) => changeOperatorAs(desk, name, what, auditOf(input)));
  if (outcome.kind === 'not_found') throw new Refusal('there is no such operator, or he is disabled', { code: 'not_found', field: 'NAME', cure: 'see `npx tocsin operator list`' });
  if (outcome.kind === 'last_admin') throw new Refusal(`${name} is the last administrator`, { code: 'last_admin', field: 'NAME', cure: 'make another one first: `npx tocsin operator set-role NAME admin`' });
  return { name, sessions_ended: outcome.sessionsEnded };
};

const told = ({ sessions_ended: count }: { sessions_ended: number }): string => (count === 0 ? 'No session was open.' : `${count === 1 ? 'One open session was' : `${count} open sessions were`} ended.`);

export const operatorSetRoleCommand: Command = {
  name: 'operator set-role',
  summary: 'change what an operator may do; ends his sessions',
  args: [NAME, { name: 'ROLE', help: ROLE_HELP }],
  options: ACTOR,
  examples: [['operator set-role ada admin', 'she signs in again']],
  run: async (input, io) => {
    const role = roleOf(input.args[1] ?? '', 'ROLE');
    const done = await change(input, io, { kind: 'role', role });
    io.out.write(input.json ? `${JSON.stringify({ ...done, role })}\n` : `${done.name} is ${role} now. ${told(done)}\n`);
    return 0;
  },
};

export const operatorSetPasswordCommand: Command = {
  name: 'operator set-password',
  summary: 'give an operator another password; ends his sessions',
  args: [NAME],
  options: { ...PASSWORD_OPTIONS, ...ACTOR },
  examples: [['operator set-password ada', 'asks for it twice'], ['operator set-password ada --generate', 'draws one and prints it once']],
  run: async (input, io) => {
    const { password, drawn } = await readPassword(input, io, input.args[0] ?? '');
    const done = await change(input, io, { kind: 'password', password });
    if (input.json) io.out.write(`${JSON.stringify({ ...done, ...(drawn ? { password } : {}) })}\n`);
    else io.out.write(`${done.name} has another password. ${told(done)}\n${drawn ? `\n${password}\n\nThis password is not shown again.\n` : ''}`);
    return 0;
  },
};

export const operatorDisableCommand: Command = {
  name: 'operator disable',
  summary: 'shut an operator out for good; ends his sessions, and keeps his name',
  args: [NAME],
  options: ACTOR,
  examples: [['operator disable ada', 'every request of hers is refused from now on']],
  run: async (input, io) => {
    const done = await change(input, io, { kind: 'disable' });
    io.out.write(input.json ? `${JSON.stringify({ ...done, disabled: true })}\n` : `${done.name} is disabled. ${told(done)}\n`);
    return 0;
  },
};
