import type { Command } from './command.ts';
import { closeCommand } from './close-command.ts';
import { doctorCommand } from './doctor-command.ts';
import { explainCommand } from './explain-command.ts';
import { keyCreateCommand, keyListCommand, keyRevokeCommand } from './key-command.ts';
import { migrateCommand } from './migrate-command.ts';
import { sendCommand } from './send-command.ts';
import { showCommand } from './show-command.ts';
import { watchCommand } from './watch-command.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  sendCommand, showCommand, watchCommand, explainCommand, closeCommand, doctorCommand, migrateCommand, keyCreateCommand, keyListCommand, keyRevokeCommand,
];
