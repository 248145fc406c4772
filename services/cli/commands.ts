import type { Command } from './command.ts';

/** Every command, in the order of the help; each is read only when it is needed, so that a small one starts quickly. */
const LOADERS: Record<string, () => Promise<Command>> = {
  send: async () => (await import('./send-command.ts')).sendCommand,
  show: async () => (await import('./show-command.ts')).showCommand,
  watch: async () => (await import('./watch-command.ts')).watchCommand,
  explain: async () => (await import('./explain-command.ts')).explainCommand,
  'report-access': async () => (await import('./report-access-command.ts')).reportAccessCommand,
  close: async () => (await import('./close-command.ts')).closeCommand,
  pause: async () => (await import('./pause-command.ts')).pauseCommand,
  resume: async () => (await import('./pause-command.ts')).resumeCommand,
  'at-risk': async () => (await import('./at-risk-command.ts')).atRiskCommand,
  'policy list': async () => (await import('./policy-list-command.ts')).policyListCommand,
  'policy lint': async () => (await import('./lint-command.ts')).policyLintCommand,
  'policy activate': async () => (await import('./policy-activate-command.ts')).policyActivateCommand,
  'template list': async () => (await import('./template-list-command.ts')).templateListCommand,
  'template lint': async () => (await import('./lint-command.ts')).templateLintCommand,
  'template preview': async () => (await import('./template-preview-command.ts')).templatePreviewCommand,
  'replay-render': async () => (await import('./replay-render-command.ts')).replayRenderCommand,
  reconcile: async () => (await import('./reconcile-command.ts')).reconcileCommand,
  'suppress list': async () => (await import('./suppress-command.ts')).suppressListCommand,
  'suppress add': async () => (await import('./suppress-command.ts')).suppressAddCommand,
  'suppress remove': async () => (await import('./suppress-command.ts')).suppressRemoveCommand,
  'consent list': async () => (await import('./consent-command.ts')).consentListCommand,
  'consent withdraw': async () => (await import('./consent-command.ts')).consentWithdrawCommand,
  'consent restore': async () => (await import('./consent-command.ts')).consentRestoreCommand,
  'dead-letters list': async () => (await import('./dead-letters-list-command.ts')).deadLettersListCommand,
  'dead-letters show': async () => (await import('./dead-letters-list-command.ts')).deadLettersShowCommand,
  'dead-letters retry': async () => (await import('./dead-letters-act-command.ts')).deadLettersRetryCommand,
  'dead-letters discard': async () => (await import('./dead-letters-act-command.ts')).deadLettersDiscardCommand,
  erase: async () => (await import('./erase-command.ts')).eraseCommand,
  doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
  migrate: async () => (await import('./migrate-command.ts')).migrateCommand,
  'ledger verify': async () => (await import('./ledger-verify-command.ts')).ledgerVerifyCommand,
  'ledger export': async () => (await import('./ledger-export-command.ts')).ledgerExportCommand,
  'ledger retention': async () => (await import('./ledger-retention-command.ts')).ledgerRetentionCommand,
  'key create': async () => (await import('./key-command.ts')).keyCreateCommand,
  'key list': async () => (await import('./key-command.ts')).keyListCommand,
  'key revoke': async () => (await import('./key-command.ts')).keyRevokeCommand,
  'operator add': async () => (await import('./operator-add-command.ts')).operatorAddCommand,
  'operator list': async () => (await import('./operator-list-command.ts')).operatorListCommand,
  'operator set-role': async () => (await import('./operator-change-command.ts')).operatorSetRoleCommand,
  'operator set-password': async () => (await import('./operator-change-command.ts')).operatorSetPasswordCommand,
  'operator disable': async () => (await import('./operator-change-command.ts')).operatorDisableCommand,
  'audit list': async () => (await import('./audit-command.ts')).auditListCommand,
  'audit verify': async () => (await import('./audit-command.ts')).auditVerifyCommand,
};

export const COMMAND_NAMES: readonly string[] = Object.keys(LOADERS);

/** The command of that name; null where there is none. */
export const loadCommand = async (name: string): Promise<Command | null> =>
  (Object.hasOwn(LOADERS, name) ? (await LOADERS[name]?.()) ?? null : null);

/** The commands of these names, for a help that shows several. One by one: they share most of what they import. */
export const loadCommands = async (names: readonly string[] = COMMAND_NAMES): Promise<Command[]> => {
  const commands: Command[] = [];
  for (const name of names) {
    const command = await loadCommand(name);
    if (command) commands.push(command);
  }
  return commands;
};
