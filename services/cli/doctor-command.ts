import { readCliConfig } from '../../shared/config/cli-config.ts';
import type { Command } from './command.ts';
import { checkDatabase } from './doctor-database.ts';
import type { Finding } from './doctor-finding.ts';
import { checkContent, checkKeys, checkNode, checkServices, checkStandalone } from './doctor-surroundings.ts';

const SIGNS = { ok: '✓', fault: '✗', note: '·' } as const;

const line = ({ name, verdict, text, cure }: Finding): string =>
  `${SIGNS[verdict]} ${name.padEnd(12)} ${text}${cure === undefined ? '' : `\n  ${' '.repeat(13)}-> ${cure}`}`;

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check this installation: each fault with its cure',
  args: [],
  options: {},
  examples: [['doctor', 'exit code 1 where anything is wrong'], ['doctor --json', 'the findings, for programs']],
  run: async (input, io) => {
    const config = readCliConfig(io.env);
    const findings = [
      checkNode(process.versions.node), await checkStandalone(io.env, config), checkKeys(io.env, config), ...checkServices(io.env), ...await checkContent(io.env, config),
      ...await checkDatabase(io.env, config),
    ];
    const faults = findings.filter((finding) => finding.verdict === 'fault').length;
    if (input.json) io.out.write(`${JSON.stringify({ ok: faults === 0, findings })}\n`);
    else io.out.write(`${findings.map(line).join('\n')}\n\n${faults === 0 ? 'Nothing is wrong.' : `${faults} fault(s) found.`}\n`);
    return faults === 0 ? 0 : 1;
  },
};
