import { positionsDigest } from './checkpoint.ts';
import type { CheckpointBody, Run } from './checkpoint.ts';
import { GAINED } from './checkpoint-read.ts';
import type { Asker } from './checkpoint-read.ts';
import type { BuriedHead } from './tombstone.ts';
import type { Faults } from './verify-fault.ts';

export interface RunEntry { version: number; position: string; hash: string }

const BATCH_ENTRIES = 2_000;

/** Holds the entries of a run against what its checkpoint says of them. True where they agree. */
export const checkRun = (run: Run, entries: readonly RunEntry[], { checkpoint, minuteAt, faults }: { checkpoint: number; minuteAt: number; faults: Faults }): boolean => {
  const [eventId, first, last, hash, positions] = run;
  const said = `checkpoint ${checkpoint} of ${new Date(minuteAt).toISOString().slice(0, 16)}Z`;
  const versions = new Set(entries.map((entry) => entry.version));
  for (let version = first; version <= last; version += 1) {
    if (!versions.has(version)) {
      faults.add({ eventId, version, checkpoint }, 'version', `is missing, and ${said} had seen it: it was deleted`);
      return false;
    }
  }
  if (entries.at(-1)?.hash !== hash) {
    faults.add({ eventId, version: last, checkpoint }, 'hash', `is not the one that ${said} saw: something at or below this version, or the intent, was changed and the chain recomputed`);
    return false;
  }
  if (positionsDigest(entries) === positions) return true;
  faults.add({ eventId, version: first, checkpoint }, 'position', `of versions ${first} to ${last} is not as ${said} saw it`);
  return false;
};

/** Whether what a checkpoint saw of a notification lies below the head by which it was removed. */
export const isBuried = ([, , last, hash]: Run, head: BuriedHead): boolean => last < head.version || (last === head.version && hash === head.hash);

const read = async (asker: Asker, runs: readonly Run[]): Promise<RunEntry[][]> => {
  const found: RunEntry[][] = runs.map(() => []);
  const { rows } = await asker.query<{ n: number; version: number; position: string; hash: Buffer }>({
    name: 'tocsin_verify_runs_v1',
    text: `SELECT (r.n - 1)::int AS n, e.version, e.position::text, e.hash
             FROM unnest($1::text[], $2::integer[], $3::integer[]) WITH ORDINALITY AS r(event_id, first, last, n)
             JOIN ledger_entry e ON e.event_id = r.event_id AND e.version BETWEEN r.first AND r.last ORDER BY r.n, e.version`,
    values: [runs.map((run) => run[0]), runs.map((run) => run[1]), runs.map((run) => run[2])],
  });
  for (const row of rows) found[row.n]?.push({ version: row.version, position: row.position, hash: row.hash.toString('hex') });
  return found;
};

/** Those of some events that a genuine tombstone names, with what it says of each. */
export type Buried = (eventIds: readonly string[]) => Promise<ReadonlyMap<string, BuriedHead>>;

/**
 * Checks runs against the database, some thousand entries at a time. Returns the events that do not agree, or were removed, and how many of
 * the entries that it saw were removed under a tombstone.
 */
export const checkRuns = async (asker: Asker, body: CheckpointBody, { runs, faults, buried }: { runs: readonly Run[]; faults: Faults; buried: Buried }): Promise<{ wrong: Set<string>; removed: number }> => {
  const wrong = new Set<string>();
  let removed = 0;
  for (let from = 0; from < runs.length;) {
    let to = from;
    for (let entries = 0; to < runs.length && (to === from || entries < BATCH_ENTRIES); to += 1) entries += (runs[to] as Run)[2] - (runs[to] as Run)[1] + 1;
    const batch = runs.slice(from, to);
    const found = await read(asker, batch);
    const gone = await buried(batch.filter((_, index) => found[index]?.length === 0).map((run) => run[0]));
    batch.forEach((run, index) => {
      const head = gone.get(run[0]);
      if (head && isBuried(run, head)) {
        wrong.add(run[0]);
        removed += run[2] - run[1] + 1;
      } else if (!checkRun(run, found[index] ?? [], { checkpoint: body.sequence, minuteAt: body.minute_at, faults })) wrong.add(run[0]);
    });
    from = to;
  }
  return { wrong, removed };
};

/**
 * Finds entries that stand among those of a checkpoint without having been seen by it, and those that it saw and that stand
 * elsewhere now. Only for checkpoints of this cluster: in another one transaction ids mean nothing.
 */
export const checkSpan = async (asker: Asker, body: CheckpointBody, { wrong, removed, faults }: { wrong: ReadonlySet<string>; removed: number; faults: Faults }): Promise<void> => {
  const span = [body.since, body.snapshot];
  const { rows: [found] } = await asker.query<{ entries: number }>({ name: 'tocsin_verify_span_v2', text: `SELECT count(*)::int AS entries FROM ${GAINED} e`, values: span });
  if (found?.entries === body.entries - removed) return;
  const { rows } = await asker.query<{ event_id: string; version: number }>(`SELECT event_id, version FROM ${GAINED} e ORDER BY event_id, version`, span);
  const here = new Set(rows.map((row) => `${row.event_id} ${row.version}`));
  for (const [eventId, first, last] of body.runs) {
    for (let version = first; version <= last; version += 1) {
      if (!here.delete(`${eventId} ${version}`) && !wrong.has(eventId)) faults.add({ eventId, version, checkpoint: body.sequence }, 'xid', `is not among those of checkpoint ${body.sequence} any more`);
    }
  }
  for (const one of here) {
    const [eventId = '', version] = one.split(' ');
    faults.add({ eventId, version: Number(version), checkpoint: body.sequence }, 'xid', `stands among the entries of checkpoint ${body.sequence}, which had not seen it: it was inserted later`);
  }
};
