import { findRetained, removePastRetention } from '../../shared/delivery/remove-retained.ts';
import type { RetentionFailure, RetentionFinding } from '../../shared/delivery/remove-retained.ts';
import type { Command } from './command.ts';
import { createProgress } from './ledger-progress.ts';
import { withEngine } from './operator-engine.ts';
import { Refusal } from './refusal.ts';
import { redactText } from '../../shared/security/redact.ts';
import { table } from './table.ts';

const fate = (one: RetentionFinding, dry: boolean): string => {
  if (one.held > 0) return `held by ${one.held} that are open or younger than their own retention`;
  return dry ? 'would be removed' : `removed${one.dropped ? ', and the partition dropped' : ''}`;
};

const wordsOf = ({ month, purpose, error }: RetentionFailure): { month: string; purpose: string | null; problem: string } => ({ month, purpose, problem: redactText(error instanceof Error ? error.message : 'it failed without a reason') });

export const ledgerRetentionCommand: Command = {
  name: 'ledger retention',
  summary: 'remove what is past its retention, a month of a purpose at a time, under signed tombstones',
  args: [],
  options: { 'dry-run': { help: 'only show what is past its retention, and what holds it' } },
  examples: [
    ['ledger retention --dry-run', 'what a coordinator will remove by itself, once a day'],
    ['ledger retention', 'remove it now; `ledger verify` and an export then know the tombstones'],
  ],
  run: (input, io) => withEngine(io, async (engine) => {
    const dry = input.flag('dry-run');
    const progress = createProgress(io);
    const failures: RetentionFailure[] = [];
    const findings = dry ? await findRetained(engine) : await removePastRetention(engine, {
      onStep: (removed) => {
        progress.show(`${removed.toLocaleString('en')} removed of this month and purpose`, null);
        if (io.signal.aborted) throw new Refusal('stopped between two steps', { code: 'stopped', cure: 'what was removed has its tombstones; run it again for the rest' });
      },
      onFailure: (failure) => { failures.push(failure); },
    });
    progress.clear();
    if (input.json) {
      io.out.write(`${JSON.stringify({ done: !dry, groups: findings.map(({ month, purpose, notifications, held, removed, dropped }) => ({ month, purpose, notifications, held, removed, partition_dropped: dropped })), failures: failures.map(wordsOf) })}\n`);
    } else if (findings.length === 0 && failures.length === 0) io.out.write('Nothing is past its retention.\n');
    else io.out.write(`${table(['month', 'purpose', 'notifications', ''], findings.map((one) => [one.month, one.purpose, String(one.notifications), fate(one, dry)]))}\n`);
    if (!input.json) for (const { month, purpose, problem } of failures.map(wordsOf)) io.err.write(`tocsin: ${month} ${purpose === null ? 'could not be given back' : `${purpose} could not be removed`}: ${problem}\n`);
    return failures.length === 0 ? 0 : 1;
  }),
};
