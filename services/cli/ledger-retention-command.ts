import { findRetained, removePastRetention } from '../../shared/delivery/remove-retained.ts';
import type { RetentionFinding } from '../../shared/delivery/remove-retained.ts';
import type { Command } from './command.ts';
import { createProgress } from './ledger-progress.ts';
import { withEngine } from './operator-engine.ts';
import { Refusal } from './refusal.ts';
import { table } from './table.ts';

const fate = (one: RetentionFinding, dry: boolean): string => {
  if (one.held > 0) return `held by ${one.held} that are open or younger than their own retention`;
  return dry ? 'would be removed' : `removed${one.dropped ? ', and the partition dropped' : ''}`;
};

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
    const findings = dry ? await findRetained(engine) : await removePastRetention(engine, {
      onStep: (removed) => {
        progress.show(`${removed.toLocaleString('en')} removed of this month and purpose`, null);
        if (io.signal.aborted) throw new Refusal('stopped between two steps', { code: 'stopped', cure: 'what was removed has its tombstones; run it again for the rest' });
      },
    });
    progress.clear();
    if (input.json) {
      io.out.write(`${JSON.stringify({ done: !dry, groups: findings.map(({ month, purpose, notifications, held, removed, dropped }) => ({ month, purpose, notifications, held, removed, partition_dropped: dropped })) })}\n`);
    } else if (findings.length === 0) io.out.write('Nothing is past its retention.\n');
    else io.out.write(`${table(['month', 'purpose', 'notifications', ''], findings.map((one) => [one.month, one.purpose, String(one.notifications), fate(one, dry)]))}\n`);
    return 0;
  }),
};
