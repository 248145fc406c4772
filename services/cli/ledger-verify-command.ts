import { existsSync } from 'node:fs';
import { readCheckpointFile } from '../../shared/config/checkpoint-config.ts';
import type { CliConfig } from '../../shared/config/cli-config.ts';
import { readCliConfig } from '../../shared/config/cli-config.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { verifyCheckpoints } from '../../shared/ledger/verify-checkpoints.ts';
import { verifyNotification, verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { NotAnExportError, verifyExport } from '../../shared/ledger/verify-export.ts';
import { findBuried } from '../../shared/ledger/verify-tombstones.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import type { Command, Input } from './command.ts';
import { eventIdOf } from './command.ts';
import type { Io } from './io.ts';
import type { LedgerKeys } from './ledger-keys.ts';
import { readLedgerKeys } from './ledger-keys.ts';
import { createProgress } from './ledger-progress.ts';
import type { VerifyReport } from './ledger-report.ts';
import { reportJson, reportText } from './ledger-report.ts';
import { notFound, withLedger } from './ledger-session.ts';
import { Refusal, UsageError } from './refusal.ts';

const UNSIGNED = 'signatures were not checked, since no key is known: set TOCSIN_KEYS, or give --public-key';

/** The copy of the checkpoints to compare with; null where there is none. */
const checkpointFileOf = (input: Input, fallback: string | null): string | null => {
  const given = input.text('checkpoints');
  if (given !== undefined && !existsSync(given)) throw new Refusal(`the checkpoint file ${given} is not there`, { code: 'no_such_file', field: '--checkpoints', cure: 'give the file that a coordinator writes (CHECKPOINT_FILE)' });
  return given ?? (fallback !== null && existsSync(fallback) ? fallback : null);
};

const goneOrNotFound = async (db: Database, eventId: string): Promise<Refusal> => {
  const found = await findBuried(db.pool, eventId);
  return found ? new Refusal(`${eventId} was removed past its retention, at ${new Date(found.at).toISOString().slice(0, 19)}Z, under tombstone ${found.tombstoneId}`, { code: 'removed', field: 'EVENT', cure: 'its tombstone is checked with the whole ledger: npx tocsin ledger verify' }) : notFound(eventId);
};

interface Setting { io: Io; input: Input; keys: LedgerKeys; eventId: string | null }

const verifyDatabase = async (db: Database, { io, input, keys, eventId }: Setting): Promise<VerifyReport> => {
  const faults = collectFaults();
  const progress = createProgress(io);
  const file = checkpointFileOf(input, readCheckpointFile(io.env));
  const total = eventId === null && io.err.isTTY ? await db.prisma.notification.count() : 0;
  const counts = eventId === null
    ? await verifyNotifications(db, { faults, ring: keys.ring, onProgress: (done) => progress.show(`${done.notifications.toLocaleString('en')} notifications, ${done.entries.toLocaleString('en')} entries`, total === 0 ? null : done.notifications / total) })
    : await verifyNotification(db, eventId, { faults, ring: keys.ring });
  const checkpoints = await verifyCheckpoints(db, {
    faults, keys: keys.publicKeys, file, ...(eventId === null ? {} : { eventId }), onProgress: (done) => progress.show(`${done.toLocaleString('en')} checkpoints`, null),
  });
  progress.clear();
  if (eventId !== null && counts.notifications + counts.entries === 0 && faults.count() === 0) throw await goneOrNotFound(db, eventId);
  return {
    scope: eventId ?? 'the whole ledger', ...counts, checkpoints: checkpoints.checkpoints, lastMinuteAt: checkpoints.lastMinuteAt,
    youngerEntries: eventId === null ? checkpoints.youngerEntries : null, publicKeys: keys.publicKeys, faults,
    notes: [
      ...(keys.publicKeys === null && checkpoints.checkpoints + checkpoints.tombstones > 0 ? [UNSIGNED] : []),
      ...(checkpoints.removed > 0 ? [`${checkpoints.removed.toLocaleString('en')} notifications were removed past their retention, under ${checkpoints.tombstones} tombstone(s)`] : []),
      ...(checkpoints.inFile === null && checkpoints.checkpoints > 0 ? ['there is no copy of the checkpoints outside of this database to compare with; give --checkpoints, or set CHECKPOINT_FILE'] : []),
    ],
  };
};

const verifyFile = async (path: string, { io, input, keys }: Setting): Promise<VerifyReport> => {
  if (!existsSync(path)) throw new Refusal(`the file ${path} is not there`, { code: 'no_such_file', field: '--file', cure: 'give a file that `npx tocsin ledger export --out FILE` wrote' });
  const faults = collectFaults();
  const progress = createProgress(io);
  const verified = await verifyExport(path, {
    faults, keys: keys.publicKeys, checkpointFile: checkpointFileOf(input, null), onProgress: (done) => progress.show(`${done.notifications.toLocaleString('en')} notifications, ${done.entries.toLocaleString('en')} entries`, null),
  }).catch((error: unknown) => {
    if (error instanceof NotAnExportError) throw new Refusal(error.message, { code: 'not_an_export', field: '--file', cure: 'write one with `npx tocsin ledger export --out FILE`' });
    throw error;
  });
  progress.clear();
  return {
    scope: `the export of ${new Date(verified.exportedAt).toISOString().slice(0, 19)}Z`, ...verified, publicKeys: keys.publicKeys, faults,
    notes: keys.publicKeys === null && verified.checkpoints > 0 ? [UNSIGNED] : [],
  };
};

export const ledgerVerifyCommand: Command = {
  name: 'ledger verify',
  summary: 'find whatever was changed, removed or added in the ledger behind its back',
  args: [{ name: 'EVENT', help: 'event id; without it the whole ledger', optional: true }],
  options: {
    file: { value: 'FILE', help: 'verify an export instead, without a database' },
    checkpoints: { value: 'FILE', help: 'copy of the checkpoints to compare with (default: CHECKPOINT_FILE)' },
    'public-key': { value: 'K', repeatable: true, help: 'a key that checkpoints were signed with, where TOCSIN_KEYS is not at hand' },
  },
  examples: [
    ['ledger verify', 'everything, with a progress bar on a terminal'],
    ['ledger verify evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'one notification'],
    ['ledger verify --file ledger.jsonl --checkpoints checkpoints.jsonl', 'an export, on any machine'],
  ],
  run: async (input, io) => {
    const config: CliConfig = readCliConfig(io.env);
    const path = input.text('file');
    const eventId = input.args.length > 0 ? eventIdOf(input) : null;
    if (path !== undefined && eventId !== null) throw new UsageError('EVENT and --file do not go together: an export is verified as a whole', '--file');
    const setting: Setting = { io, input, eventId, keys: readLedgerKeys(io, config, input.list('public-key')) };
    const report = path === undefined ? await withLedger(io, (db) => verifyDatabase(db, setting)) : await verifyFile(path, setting);
    io.out.write(input.json ? `${reportJson(report)}\n` : reportText(report));
    return report.faults.count() === 0 ? 0 : 1;
  },
};
