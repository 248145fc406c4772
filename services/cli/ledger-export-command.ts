import { open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { CliConfig } from '../../shared/config/cli-config.ts';
import { createDatabaseClock } from '../../shared/ledger/database-clock.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { exportLedger } from '../../shared/ledger/export.ts';
import type { ExportCounts, ExportOptions } from '../../shared/ledger/export.ts';
import type { Command, Input } from './command.ts';
import type { Io } from './io.ts';
import { readLedgerKeys } from './ledger-keys.ts';
import { createProgress } from './ledger-progress.ts';
import { withLedger } from './ledger-session.ts';
import { Refusal, UsageError } from './refusal.ts';

type Export = (write: ExportOptions['write']) => Promise<ExportCounts>;

const CHUNK_CHARS = 256 * 1024;

/** Gathers lines into large writes. */
const createLineWriter = (file: FileHandle) => {
  let waiting: string[] = [];
  let length = 0;
  const flush = async (): Promise<void> => {
    const text = waiting.join('');
    waiting = [];
    length = 0;
    await file.appendFile(text);
  };
  return {
    flush,
    write: async (line: string): Promise<void> => {
      waiting.push(line, '\n');
      length += line.length;
      if (length >= CHUNK_CHARS) await flush();
    },
  };
};

/** An export may be the only copy of what was since removed, so none is lost by a slip. @throws Refusal. */
const refuseExisting = async (path: string, isForced: boolean): Promise<void> => {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) throw new Refusal(`${path} is a folder`, { code: 'cannot_write', field: '--out', cure: 'give a file in it' });
  if (found?.isFile() && !isForced) throw new Refusal(`${path} is there already, and was left as it is`, { code: 'exists', field: '--out', cure: 'give another file, or say --force to replace it' });
};

/** Writes beside the file and renames: it is there whole, and flushed, or not at all. */
const toFile = async (path: string, write: Export): Promise<ExportCounts> => {
  const draft = `${path}.${process.pid}.draft`;
  const file = await open(draft, 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Refusal(`${path} cannot be written (${error.code ?? 'unknown'})`, { code: 'cannot_write', field: '--out', cure: 'give a file in a folder that you may write to' });
  });
  try {
    const writer = createLineWriter(file);
    const counts = await write(writer.write);
    await writer.flush();
    await file.sync();
    await file.close();
    await rename(draft, path);
    return counts;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(draft, { force: true });
    throw error;
  }
};

const databaseNow = async (db: Database): Promise<number> => {
  const clock = createDatabaseClock(db);
  await clock.refresh();
  return clock.now();
};

const written = async (out: string | undefined, { input, io, db, config }: { input: Input; io: Io; db: Database; config: CliConfig }): Promise<number> => {
  const progress = createProgress(io);
  const now = await databaseNow(db);
  const publicKeys = readLedgerKeys(io, config).publicKeys ?? [];
  const write: Export = (line) => exportLedger(db, { now, publicKeys, write: line, onProgress: (done) => progress.show(`${done.notifications.toLocaleString('en')} notifications, ${done.entries.toLocaleString('en')} entries`, null) });
  const counts = out === undefined ? await write(async (line) => io.out.write(`${line}\n`)) : await toFile(out, write);
  progress.clear();
  // Without --out the lines themselves are the answer.
  if (out !== undefined) io.out.write(input.json ? `${JSON.stringify({ file: out, ...counts })}\n` : `Wrote ${out}: ${counts.notifications.toLocaleString('en')} notifications, ${counts.entries.toLocaleString('en')} entries, ${counts.checkpoints.toLocaleString('en')} checkpoints.\n`);
  return 0;
};

export const ledgerExportCommand: Command = {
  name: 'ledger export',
  summary: 'write the ledger as JSON lines: intents, entries, checkpoints; nothing sealed',
  args: [],
  options: { out: { value: 'FILE', help: 'file to write (mode 0600); without it, standard output' }, force: { help: 'replace FILE where it is there already' } },
  examples: [
    ['ledger export --out ledger.jsonl', 'then, anywhere: ledger verify --file ledger.jsonl'],
    ['npx tocsin ledger export | gzip > ledger.jsonl.gz', 'packed'],
  ],
  run: async (input, io) => {
    const out = input.text('out');
    if (out === undefined && input.flag('force')) throw new UsageError('--force is for a file: give --out', '--force');
    if (out !== undefined) await refuseExisting(out, input.flag('force'));
    return withLedger(io, (db, config) => written(out, { input, io, db, config }));
  },
};
