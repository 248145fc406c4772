import { readCliConfig } from '../../shared/config/cli-config.ts';
import { activatePolicy } from '../../shared/delivery/activate-policy.ts';
import type { ActivationOutcome } from '../../shared/delivery/activate-policy.ts';
import type { Command } from './command.ts';
import { lintFolders } from './content-folders.ts';
import { findingLine } from './lint-command.ts';
import { actorOf, auditOf, withEngine } from './operator-engine.ts';
import { reasonOf } from './reason-option.ts';
import { Refusal, UsageError } from './refusal.ts';

const refusalOf = (outcome: Extract<ActivationOutcome, { kind: 'unknown' }>, purpose: string, version: number): Refusal => (outcome.versions.length === 0
  ? new Refusal(`there is no purpose ${purpose}; there are ${outcome.purposes.join(', ') || 'none'}`, { code: 'unknown_purpose', field: 'PURPOSE', cure: 'correct the name, or add a folder of that name to the policies' })
  : new Refusal(`${purpose} has no version ${version}; it has ${outcome.versions.join(', ')}`, { code: 'unknown_version', field: 'VERSION', cure: `name one of these, or add ${purpose}/${version}.yaml to the policies` }));

export const policyActivateCommand: Command = {
  name: 'policy activate',
  summary: 'make a policy version the one that new notifications take; also the way back to an older one',
  args: [{ name: 'PURPOSE', help: 'e.g. game-support-urgent' }, { name: 'VERSION', help: 'its number' }],
  options: {
    reason: { value: 'R', help: 'a code such as incident, checked or requested, or a sentence, which is kept sealed' },
    actor: { value: 'A', help: 'who does it: a name or role, as the history will say (default: cli)' },
  },
  examples: [
    ['policy activate game-support-urgent 2 --reason checked --actor ada', 'publishes 2.yaml if need be; running services take it up within a second'],
    ['policy activate game-support-urgent 1 --reason incident', 'back to version 1; what was accepted under 2 stays with 2'],
  ],
  run: async (input, io) => {
    const [purpose = '', number = ''] = input.args;
    if (!/^[1-9]\d{0,5}$/.test(number)) throw new UsageError('VERSION must be a number, such as 2', 'VERSION');
    const reason = reasonOf(input).trim();
    const actor = actorOf(input);
    const version = Number(number);
    const folders = readCliConfig(io.env);
    const outcome = await withEngine(io, (engine) => activatePolicy(engine, { purpose, version, reason, actor, audit: auditOf(input), linted: lintFolders(folders, io) }));
    if (outcome.kind === 'unknown') throw refusalOf(outcome, purpose, version);
    if (outcome.kind === 'faulty') {
      throw new Refusal(`${purpose} ${version} does not lint:\n${outcome.problems.map((one) => `  ${findingLine(one, folders)}`).join('\n')}`, { code: 'not_clean', field: 'VERSION', cure: 'correct the files; `npx tocsin policy lint` tells all of it' });
    }
    const replayed = outcome.kind === 'active';
    if (input.json) io.out.write(`${JSON.stringify({ purpose, version, active: true, replayed, before: outcome.before })}\n`);
    else if (replayed) io.out.write(`${purpose} ${version} is active already; nothing was recorded.\n`);
    else {
      io.out.write(`${purpose} ${version} is active for new notifications${outcome.before === null ? '' : `, instead of ${outcome.before}`}. Running services take it up within a second;\nwhat was accepted before stays with its version.\n`);
      if (outcome.before !== null) io.out.write(`Back: npx tocsin policy activate ${purpose} ${outcome.before} --reason …\n`);
    }
    return 0;
  },
};
