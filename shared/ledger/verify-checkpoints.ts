import type { PublicKey } from '../security/signing-key.ts';
import { NO_SNAPSHOT, readBody } from './checkpoint.ts';
import type { Checkpoint, CheckpointBody, Run } from './checkpoint.ts';
import { checkpointFileEnd, streamCheckpointFile } from './checkpoint-file.ts';
import { newestGenuine, readGenuine } from './checkpoint-genuine.ts';
import { clusterOf, streamCheckpoints } from './checkpoint-read.ts';
import type { Asker, StoredCheckpoint } from './checkpoint-read.ts';
import type { Database } from './database.ts';
import { inSnapshot } from './verify-database.ts';
import { followCheckpoints, onePerNumber } from './verify-checkpoint-chain.ts';
import type { Faults } from './verify-fault.ts';
import { checkRuns, checkSpan } from './verify-runs.ts';
import type { Buried } from './verify-runs.ts';
import { verifyTombstones } from './verify-tombstones.ts';

export interface CheckpointOptions {
  faults: Faults;
  /** Public keys of the deployment; null where none is known: signatures are then not checked. */
  keys: readonly PublicKey[] | null;
  /** The copy outside of the database; null to look at the table alone. */
  file: string | null;
  /** Only what is said about this event. */
  eventId?: string;
  onProgress?: (done: number) => void;
}

export interface CheckpointCounts {
  checkpoints: number;
  /** Start of the minute of the newest one; null where there is none. */
  lastMinuteAt: number | null;
  /** Entries that no checkpoint covers yet; null where that cannot be told (restored into another cluster). */
  youngerEntries: number | null;
  /** Checkpoints in the file; null where there is no file. */
  inFile: number | null;
  /** Removals past retention that count, and how many notifications they removed. */
  tombstones: number;
  removed: number;
}

/** A checkpoint file, and how far it is read. */
export interface FileSource { path: string; end: number }

/**
 * To be asked before the ledger is looked at: what the file holds by then, the ledger holds as well. Null where there is none.
 */
export const openFileSource = async (path: string | null): Promise<FileSource | null> => {
  const end = path === null ? null : await checkpointFileEnd(path);
  return path === null || end === null ? null : { path, end };
};

/** The file's checkpoints of one ledger, each once and in order; what is wrong with the lines themselves is told. */
const ownLines = async function* ({ path, end }: FileSource, { ledger, keys, faults }: Pick<Sources, 'ledger' | 'keys' | 'faults'>): AsyncGenerator<Checkpoint> {
  let last: Checkpoint | null = null;
  const foreign = new Set<string>();
  let ours = ledger;
  for await (const { line, checkpoint } of streamCheckpointFile(path, end)) {
    if (!checkpoint) faults.add({}, 'checkpoint file', `line ${line} is not a checkpoint`);
    else if (checkpoint.ledger !== (ours ??= checkpoint.ledger)) {
      if (!foreign.has(checkpoint.ledger)) faults.add({ checkpoint: checkpoint.sequence }, 'checkpoint file', `from line ${line} on it holds checkpoints of another ledger (${checkpoint.ledger.slice(0, 8)}): either the database was replaced, or the file is that of another deployment`);
      foreign.add(checkpoint.ledger);
    } else if (keys && checkpoint.sequence > (last?.sequence ?? 0) + 1 && !readGenuine(checkpoint, keys)) {
      // Far ahead and forged: what comes after it goes on where the genuine ones before it ended.
      faults.add({ checkpoint: checkpoint.sequence }, 'checkpoint file.signature', `line ${line} is not a checkpoint of this number that a key of this deployment signed`);
    } else if (last && checkpoint.sequence <= last.sequence) {
      if (checkpoint.sequence < last.sequence || !checkpoint.hash.equals(last.hash)) faults.add({ checkpoint: checkpoint.sequence }, 'checkpoint file', `line ${line} tells checkpoint ${checkpoint.sequence} a second time, in another way`);
    } else {
      last = checkpoint;
      yield checkpoint;
    }
  }
};

interface Pair { stored: (Checkpoint & Partial<StoredCheckpoint>) | null; filed: Checkpoint | null; fileGoesOn: boolean }

/** Both sources side by side, by sequence number. */
const pair = async function* (stored: Sources['stored'], filed: AsyncGenerator<Checkpoint>): AsyncGenerator<Pair> {
  let [one, other] = [await stored.next(), await filed.next()];
  while (!one.done || !other.done) {
    const left = one.done ? null : one.value;
    const right = other.done ? null : other.value;
    const takeLeft: boolean = left !== null && (right === null || left.sequence <= right.sequence);
    const takeRight: boolean = right !== null && (left === null || right.sequence <= left.sequence);
    yield { stored: takeLeft ? left : null, filed: takeRight ? right : null, fileGoesOn: right !== null };
    if (takeLeft) one = await stored.next();
    if (takeRight) other = await filed.next();
  }
};

const nothing = async function* (): AsyncGenerator<Checkpoint> { /* no file */ };

const compare = ({ stored, filed, fileGoesOn }: Pair, faults: Faults): void => {
  if (stored && filed && (!stored.hash.equals(filed.hash) || stored.body !== filed.body)) {
    faults.add({ checkpoint: stored.sequence }, 'checkpoint.body', 'database and file do not tell the same: one of the two was changed');
  } else if (filed && !stored) faults.add({ checkpoint: filed.sequence }, 'checkpoint.sequence', 'is in the file and not in the database: it was deleted there, or the database was put back to an earlier time');
  else if (stored && !filed && fileGoesOn) faults.add({ checkpoint: stored.sequence }, 'checkpoint file', 'is in the database and not in the file, which goes on after it');
};

export interface Sources {
  stored: AsyncGenerator<Checkpoint & Partial<StoredCheckpoint>>;
  /** The id of the ledger; null where it is not known: that of the file's first line counts then. */
  ledger: string | null;
  file: FileSource | null;
  /** Checkpoints of a later minute are unknown to what is looked at, and no fault in the file; null where that cannot be. */
  asOf: number | null;
  keys: readonly PublicKey[] | null;
  faults: Faults;
}

const isLater = (one: Checkpoint, asOf: number | null): boolean => asOf !== null && (readBody(one.body)?.minute_at ?? 0) > asOf;

/**
 * Holds two chains of checkpoints against each other and hands out what they say: once where they agree, both where not.
 */
export const compareCheckpoints = async (sources: Sources, onBody: (body: CheckpointBody) => Promise<void> | void): Promise<{ checkpoints: number; inFile: number }> => {
  const { faults, keys } = sources;
  const chains = { stored: followCheckpoints({ where: 'checkpoint', faults, keys }), filed: followCheckpoints({ where: 'checkpoint file', faults, keys }) };
  const lines = sources.file === null ? nothing() : ownLines(sources.file, sources);
  const counts = { checkpoints: 0, inFile: 0 };
  for await (const both of pair(onePerNumber(sources.stored, { faults, keys }), lines)) {
    if (!both.stored && both.filed && isLater(both.filed, sources.asOf)) break;
    compare(both, faults);
    const stored = both.stored && chains.stored.next(both.stored);
    const filed = both.filed && chains.filed.next(both.filed);
    if (both.filed) counts.inFile += 1;
    counts.checkpoints += 1;
    if (stored) await onBody(stored);
    if (filed && both.filed?.body !== both.stored?.body) await onBody(filed);
  }
  return counts;
};

const runsOf = (body: CheckpointBody, eventId: string | undefined): Run[] => (eventId === undefined ? body.runs : body.runs.filter((run) => run[0] === eventId));

const checkBody = async (asker: Asker, body: CheckpointBody, { cluster, options, buried }: { cluster: string; options: Pick<CheckpointOptions, 'faults' | 'eventId'>; buried: Buried }): Promise<void> => {
  const { wrong, removed } = await checkRuns(asker, body, { runs: runsOf(body, options.eventId), faults: options.faults, buried });
  if (body.cluster === cluster && options.eventId === undefined) await checkSpan(asker, body, { wrong, removed, faults: options.faults });
};

const YOUNGER = `SELECT count(*)::int AS entries FROM ledger_entry
  WHERE xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)`;

/**
 * Holds the ledger against its checkpoints, those of the database and those written outside of it; each must agree with
 * the other, with the one before, with its signature, and with the entries it has seen.
 */
export const verifyCheckpoints = async (db: Database, options: CheckpointOptions): Promise<CheckpointCounts> => {
  const file = await openFileSource(options.file);
  return inSnapshot(db, (asker) => verifyIn(asker, { ...options, file }));
};

const verifyIn = async (asker: Asker, options: Omit<CheckpointOptions, 'file'> & { file: FileSource | null }): Promise<CheckpointCounts> => {
  const newest = await newestGenuine(asker, options.keys);
  const cluster = await clusterOf(asker);
  const { tombstones, buried } = await verifyTombstones(asker, options);
  let done = 0;
  const counts = await compareCheckpoints({ ...options, stored: streamCheckpoints(asker), ledger: newest?.ledger ?? null, asOf: null }, async (body) => {
    await checkBody(asker, body, { cluster, options, buried });
    done += 1;
    options.onProgress?.(done);
  });
  const comparable = newest === null || newest.cluster === cluster;
  const { rows: [younger] } = comparable ? await asker.query<{ entries: number }>(YOUNGER, [newest?.snapshot ?? NO_SNAPSHOT]) : { rows: [] };
  return { checkpoints: counts.checkpoints, lastMinuteAt: newest?.minuteAt ?? null, youngerEntries: younger?.entries ?? null, inFile: counts.inFile === 0 ? null : counts.inFile, ...tombstones };
};
