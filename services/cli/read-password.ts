import { generatePassword, passwordFault } from '../../shared/security/password.ts';
import type { Input, OptionSpec } from './command.ts';
import type { Io } from './io.ts';
import { Refusal } from './refusal.ts';

/** Never by an argument: those are seen by everyone on the host, and kept by the shell. */
export const PASSWORD_OPTIONS: Record<string, OptionSpec> = {
  generate: { help: 'draw a password and print it once; without it the password is asked for at the terminal, or read from standard input' },
};

const twice = async (ask: (question: string) => Promise<string>): Promise<string> => {
  const password = await ask('New password: ');
  if (await ask('Once more: ') !== password) throw new Refusal('the two were not the same', { code: 'not_the_same', field: 'password', cure: 'run it again and type the same twice' });
  return password;
};

/** The new password of an operator; `drawn` where it must be shown, since nobody knows it yet. @throws Refusal where it is too weak. */
export const readPassword = async (input: Input, io: Io, name: string): Promise<{ password: string; drawn: boolean }> => {
  if (input.flag('generate')) return { password: generatePassword(), drawn: true };
  const password = io.askSecret ? await twice(io.askSecret) : (await io.readInput()).replace(/\r?\n$/, '');
  const fault = passwordFault(password, name);
  if (fault !== null) throw new Refusal(`the password ${fault}`, { code: 'weak_password', field: 'password', cure: 'give another one, or let it be drawn with --generate' });
  return { password, drawn: false };
};
