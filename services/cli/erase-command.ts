import { resolve, join } from 'node:path';
import { readVariables } from '../../shared/config/environment.ts';
import { readErasureFile } from '../../shared/config/erasure-config.ts';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { carryOutErasures, ERASURE_REASONS, newErasure, previewErasure } from '../../shared/delivery/erase-person.ts';
import type { ErasureCounts, ErasurePreview } from '../../shared/delivery/erase-person.ts';
import { syncErasures } from '../../shared/delivery/sync-erasures.ts';
import { appendToErasureFile } from '../../shared/ledger/erasure-file.ts';
import { markErasuresApplied, recordErasure } from '../../shared/ledger/erasures.ts';
import type { RecordedErasure } from '../../shared/ledger/erasures.ts';
import type { Command, Input } from './command.ts';
import { refuseUnknownTenant } from './destination-options.ts';
import type { Io } from './io.ts';
import { createProgress } from './ledger-progress.ts';
import { actorOf, withEngine } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

const ROWS: [keyof ErasureCounts, string][] = [
  ['notifications', 'notifications'], ['tickets', 'tickets'], ['addresses', 'addresses'], ['parts', 'sealed parts of payloads'], ['observations', 'answers of providers, and operators\' words'],
  ['reasons', 'reasons of retries'], ['artifacts', 'reports'], ['links', 'links to reports'], ['shared', 'reports that others were sent as well, kept until they expire'],
];
const told = (counts: ErasureCounts): string => table(['what', 'count'], ROWS.filter(([name]) => counts[name] > 0).map(([name, words]) => [words, String(counts[name])]));

const withStore = <Answer>(io: Io, work: (engine: Engine) => Promise<Answer>): Promise<Answer> => withEngine(io, (engine) => {
  const read = readVariables(io.env, ['TOCSIN_DATA_DIR', 'ARTIFACT_DIR']);
  return work({ ...engine, artifacts: createFileArtifactStore(resolve(read.ARTIFACT_DIR ?? join(read.TOCSIN_DATA_DIR, 'artifacts')), engine.ring) });
});

const carryOut = async (engine: Engine, erasures: readonly RecordedErasure[], { io, actor }: { io: Io; actor: string }): Promise<ErasureCounts> => {
  const progress = createProgress(io);
  const total = io.err.isTTY ? await engine.db.prisma.recipient.count() : 0;
  try {
    const counts = await carryOutErasures(engine, erasures, {
      actor,
      onPage: (looked, done) => {
        progress.show(`${looked.toLocaleString('en')} looked through, ${done.notifications.toLocaleString('en')} erased`, total === 0 ? null : looked / total);
        if (io.signal.aborted) throw new Refusal('stopped before the end', { code: 'stopped', cure: 'it is recorded: a coordinator goes on with it within a minute, and so does `npx tocsin erase --reapply`' });
      },
    });
    await markErasuresApplied(engine.db, erasures.map((one) => one.erasureId), engine.now());
    return counts;
  } finally {
    progress.clear();
  }
};

/** Written down outside of the database before anything is destroyed: a restore must not bring back what nobody remembers to erase. */
const writeDown = async (engine: Engine, erasure: RecordedErasure, path: string): Promise<void> => {
  await appendToErasureFile(path, [erasure]).catch((error: NodeJS.ErrnoException) => {
    throw new Refusal(`${path} cannot be written (${error.code ?? 'unknown'}), and nothing was erased`, { code: 'cannot_write', field: 'ERASURE_FILE', cure: 'let ERASURE_FILE name a file that you may write, as the coordinators have it' });
  });
  await recordErasure(engine.db, erasure);
};

const subjectOf = async (input: Input, io: Io): Promise<string> => {
  const [given] = input.args;
  const text = (given === '-' ? await io.readInput() : given ?? '').trim();
  if (text === '') throw new UsageError('RECIPIENT is missing: give a reference, a number or an address, or - to read it from standard input', 'RECIPIENT');
  return text;
};

const reasonOf = (input: Input): string => {
  const reason = input.required('reason');
  // A sentence would say who it was, and a record of an erasure is kept.
  if (!ERASURE_REASONS.includes(reason)) throw new UsageError(`--reason must be one of ${ERASURE_REASONS.join(', ')}`, '--reason');
  return reason;
};

const refuseOpen = ({ counts, openEvents }: ErasurePreview, closing: boolean): void => {
  if (counts.open === 0 || closing) return;
  throw new Refusal(`${counts.open} notification(s) may still be sent, so nothing was erased: ${openEvents.join(', ')}${counts.open > openEvents.length ? ', …' : ''}`, {
    code: 'open_notifications', field: '--close', cure: 'wait until they have settled, or say --close: nothing of them is submitted any more then',
  });
};

const reapply = async (input: Input, io: Io): Promise<number> => withStore(io, async (engine) => {
  const { all, restored, forged } = await syncErasures(engine, readErasureFile(io.env));
  const counts = await carryOut(engine, all, { io, actor: actorOf(input) });
  if (input.json) io.out.write(`${JSON.stringify({ done: true, erasures: all.length, restored, forged, counts })}\n`);
  else io.out.write(`${all.length} erasure(s) carried out again, ${restored} of which this database had forgotten: ${counts.notifications} notification(s) told of those persons.\n${forged > 0 ? `${forged} row(s) or line(s) are none that this deployment wrote, and were left alone.\n` : ''}`);
  return 0;
});

const LAST = { preview: 'Nothing was erased yet: say --yes to do it.', done: 'Erased. The ledger keeps what happened, and no longer to whom.', nothing: 'There was nothing to erase.' } as const;

const outcome = (preview: ErasurePreview, end: keyof typeof LAST): string => [
  preview.counts.notifications === 0 ? 'Nothing is known under that name.' : told(preview.counts),
  ...(preview.counts.open > 0 && end === 'preview' ? [`${preview.counts.open} may still be sent: ${preview.openEvents.join(', ')}. They are in the way unless you say --close.`] : []),
  ...(preview.suppressions > 0 ? [`${preview.suppressions} suppression(s) stay, by fingerprint: nothing is sent there in future either.`] : []),
  ...(preview.otherTenants.length > 0 ? [`Also known to tenant(s) ${preview.otherTenants.join(', ')}, which are not meant: see --tenant.`] : []),
  LAST[end],
].join('\n');

export const eraseCommand: Command = {
  name: 'erase',
  summary: 'erase a person: everything that tells who it was; shows first what there is',
  args: [{ name: 'RECIPIENT', help: 'a recipient\'s ref, a player\'s, a number with + or an address; - reads it from standard input', optional: true }],
  options: {
    reason: { value: 'R', help: `why: ${ERASURE_REASONS.join(', ')}` },
    tenant: { value: 'T', help: 'whose notifications it is about (default: default, whose the tickets are)' },
    actor: { value: 'A', help: 'who does it: a name or role, as the ledger will say (default: cli)' },
    close: { help: 'also what may still be sent: it is closed first' },
    yes: { help: 'do it; without it only what there is is shown' },
    reapply: { help: 'instead: every erasure that was ever recorded, once more, after a backup was restored' },
  },
  examples: [
    ['erase p-1001 --reason requested', 'what there is of a player or recipient'],
    ['erase +12025550103 --reason requested --close --yes', 'erase it, and close what may still be sent'],
    ['erase --reapply', 'after a restore'],
  ],
  run: async (input, io) => {
    if (input.flag('reapply')) {
      if (input.args.length > 0) throw new UsageError('--reapply takes no RECIPIENT: it is about everyone who was erased', '--reapply');
      return reapply(input, io);
    }
    const [subject, reason, actor] = [await subjectOf(input, io), reasonOf(input), actorOf(input)];
    const tenant = input.text('tenant') ?? 'default';
    return withStore(io, async (engine) => {
      await refuseUnknownTenant(engine, tenant);
      const erasure = newErasure(engine.ring, subject, { tenant, at: engine.now(), reason, actor });
      const progress = createProgress(io);
      const preview = await previewErasure(engine, erasure, (looked) => progress.show(`${looked.toLocaleString('en')} looked through`, null));
      progress.clear();
      const isPreview = !input.flag('yes');
      if (!isPreview) refuseOpen(preview, input.flag('close'));
      const found = preview.counts.notifications > 0;
      if (!isPreview && found) {
        await writeDown(engine, erasure, readErasureFile(io.env));
        preview.counts = await carryOut(engine, [erasure], { io, actor });
      }
      const done = !isPreview && found;
      if (input.json) io.out.write(`${JSON.stringify({ done, erasure: done ? erasure.erasureId : null, tenant, reason, counts: preview.counts, open_events: preview.openEvents, suppressions_kept: preview.suppressions, other_tenants: preview.otherTenants })}\n`);
      else io.out.write(`${outcome(preview, done ? 'done' : found ? 'preview' : 'nothing')}\n`);
      return 0;
    });
  },
};
