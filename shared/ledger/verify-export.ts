import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { PublicKey } from '../security/signing-key.ts';
import { NO_SNAPSHOT, hadEnded, readLine } from './checkpoint.ts';
import type { Checkpoint, CheckpointBody, Run } from './checkpoint.ts';
import { EXPORT_FORMATS } from './export.ts';
import type { ExportCounts } from './export.ts';
import { tombstoneFault } from './tombstone.ts';
import type { BuriedHead } from './tombstone.ts';
import { compareCheckpoints, openFileSource } from './verify-checkpoints.ts';
import { checkEvent } from './verify-event.ts';
import type { EventCheck } from './verify-event.ts';
import type { Faults } from './verify-fault.ts';
import { checkIntentText } from './verify-intent.ts';
import { checkRun, isBuried } from './verify-runs.ts';
import type { RunEntry } from './verify-runs.ts';

const lineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ledger'), format: z.number(), exported_at: z.number(), ledger: z.string().nullable(), cluster: z.string() }),
  z.object({ kind: z.literal('checkpoint') }),
  z.object({ kind: z.literal('tombstone'), body: z.string(), key: z.string(), signature: z.string(), heads: z.array(z.tuple([z.string(), z.number().int(), z.string()])) }),
  z.object({ kind: z.literal('intent'), event_id: z.string(), intent: z.string(), hash: z.string() }),
  z.object({ kind: z.literal('entry'), event_id: z.string(), version: z.number().int(), position: z.string(), xid: z.string().regex(/^\d+$/), body: z.string(), hash: z.string() }),
  z.object({ kind: z.literal('end'), notifications: z.number(), entries: z.number(), checkpoints: z.number(), sha256: z.string() }),
]);
type Line = z.output<typeof lineSchema>;
type Head = Extract<Line, { kind: 'ledger' }>;

/** The file is no export, or one of a format that this version does not know. */
export class NotAnExportError extends Error {
  override readonly name = 'NotAnExportError';
}

const readExportLine = (text: string): Line | null => {
  try {
    return lineSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
};

const streamLines = async function* (path: string): AsyncGenerator<{ text: string; line: number }> {
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) yield { text, line: (line += 1) };
};

const readHead = async (path: string): Promise<Head> => {
  for await (const { text } of streamLines(path)) {
    const head = readExportLine(text);
    if (head?.kind === 'ledger' && Object.values(EXPORT_FORMATS).some((format) => format === head.format)) return head;
    break;
  }
  throw new NotAnExportError('the file is not an export of a ledger, or one of another version');
};

/** A checkpoint of a minute that ended this long before an export was written is in it. */
const SETTLED_MS = 120_000;

/** The checkpoints of an export; they stand before everything else. */
const streamExported = async function* (path: string, faults: Faults): AsyncGenerator<Checkpoint> {
  for await (const { text, line } of streamLines(path)) {
    if (line === 1) continue;
    if (!text.startsWith('{"kind":"checkpoint"')) return;
    const checkpoint = readLine(text);
    if (checkpoint) yield checkpoint;
    else faults.add({}, 'export', `line ${line} is not a checkpoint`);
  }
};

interface Seen { run: Run; checkpoint: number; minuteAt: number }

/** What the checkpoints saw of each event. Offline there is no index to ask, so this is held in memory: some 300 bytes a run. */
const createSightings = (cluster: string) => {
  const runs = new Map<string, Seen[]>();
  const buried = new Map<string, BuriedHead>();
  let ended = hadEnded(NO_SNAPSHOT);
  return {
    add: (body: CheckpointBody): void => {
      if (body.cluster === cluster) ended = hadEnded(body.snapshot);
      for (const run of body.runs) {
        const seen = { run, checkpoint: body.sequence, minuteAt: body.minute_at };
        const known = runs.get(run[0]);
        if (known) known.push(seen);
        else runs.set(run[0], [seen]);
      }
    },
    bury: (heads: readonly BuriedHead[]): void => { for (const head of heads) buried.set(head.eventId, head); },
    isBuried: (eventId: string): boolean => buried.has(eventId),
    check: (eventId: string, entries: readonly (RunEntry & { xid: string })[], faults: Faults): number => {
      const seen = runs.get(eventId) ?? [];
      runs.delete(eventId);
      for (const { run, ...of } of seen) checkRun(run, entries.filter((entry) => entry.version >= run[1] && entry.version <= run[2]), { ...of, faults });
      const younger = entries.filter((entry) => !seen.some(({ run }) => entry.version >= run[1] && entry.version <= run[2]));
      for (const entry of younger) if (ended(entry.xid)) faults.add({ eventId, version: entry.version }, 'xid', 'stands among entries that checkpoints cover, and none has seen it: it was inserted later');
      return younger.length;
    },
    checkMissing: (faults: Faults): void => {
      for (const seen of runs.values()) for (const { run, ...of } of seen) {
        const head = buried.get(run[0]);
        if (!head || !isBuried(run, head)) checkRun(run, [], { ...of, faults });
      }
    },
  };
};
type Sightings = ReturnType<typeof createSightings>;

/** Checks intents and entries as they come. */
const createReader = (sightings: Sightings, { faults, keys }: { faults: Faults; keys: readonly PublicKey[] | null }) => {
  const counts = { notifications: 0, entries: 0, younger: 0, tombstones: 0 };
  let current = null as { eventId: string; check: EventCheck; entries: (RunEntry & { xid: string })[] } | null;
  const endEvent = (): void => {
    if (!current) return;
    current.check.end();
    counts.younger += sightings.check(current.eventId, current.entries, faults);
    current = null;
  };
  const begin = (eventId: string, intentHash: Buffer | null) => {
    endEvent();
    return (current = { eventId, check: checkEvent(eventId, intentHash, faults), entries: [] });
  };
  return {
    counts,
    endEvent,
    tombstone: (line: Extract<Line, { kind: 'tombstone' }>): void => {
      counts.tombstones += 1;
      const heads = line.heads.map(([eventId, version, hash]) => ({ eventId, version, hash }));
      const fault = tombstoneFault({ body: line.body, keyId: line.key, signature: Buffer.from(line.signature, 'base64url') }, heads, keys);
      if (fault) faults.add({}, fault.column, `of tombstone ${counts.tombstones} ${fault.text}`);
      else sightings.bury(heads);
    },
    intent: (line: Extract<Line, { kind: 'intent' }>): void => {
      const intentHash = Buffer.from(line.hash, 'hex');
      begin(line.event_id, intentHash);
      if (sightings.isBuried(line.event_id)) faults.add({ eventId: line.event_id }, 'tombstone.heads', 'a tombstone says that it was removed, and it stands');
      checkIntentText(line.event_id, { intent: line.intent, intentHash }, faults);
      counts.notifications += 1;
    },
    entry: (line: Extract<Line, { kind: 'entry' }>): void => {
      const event = current?.eventId === line.event_id ? current : begin(line.event_id, null);
      event.check.entry({ event_id: line.event_id, version: line.version, position: line.position, body: line.body, hash: Buffer.from(line.hash, 'hex'), columns: null });
      event.entries.push({ version: line.version, position: line.position, hash: line.hash, xid: line.xid });
      counts.entries += 1;
    },
  };
};

export interface ExportVerifyOptions { faults: Faults; keys: readonly PublicKey[] | null; checkpointFile: string | null; onProgress?: (counts: { notifications: number; entries: number }) => void }
export interface ExportVerified extends ExportCounts { exportedAt: number; lastMinuteAt: number | null; youngerEntries: number; inFile: number | null }

const checkEnd = (end: Extract<Line, { kind: 'end' }> | null, found: ExportCounts & { sha256: string }, faults: Faults): void => {
  if (!end) faults.add({}, 'export', 'has no last line: it was cut off');
  else if (end.notifications !== found.notifications || end.entries !== found.entries || end.checkpoints !== found.checkpoints) faults.add({}, 'export', 'does not hold as many lines as its last one counts');
  else if (end.sha256 !== found.sha256) faults.add({}, 'export', 'is not what its last line sums up: it was changed after it was written');
};

/**
 * Checks an export without any database: intents, chains, folds and checkpoints, also against a checkpoint file. What is
 * materialized beside the ledger is not in it. @throws NotAnExportError.
 */
export const verifyExport = async (path: string, options: ExportVerifyOptions): Promise<ExportVerified> => {
  const { faults } = options;
  const head = await readHead(path);
  const sightings = createSightings(head.cluster);
  let lastMinuteAt: number | null = null;
  const compared = await compareCheckpoints({ stored: streamExported(path, faults), ledger: head.ledger, file: await openFileSource(options.checkpointFile), asOf: head.exported_at - SETTLED_MS, keys: options.keys, faults }, (body) => {
    lastMinuteAt = Math.max(lastMinuteAt ?? 0, body.minute_at);
    sightings.add(body);
  });
  const reader = createReader(sightings, options);
  const sum = createHash('sha256');
  let end: Extract<Line, { kind: 'end' }> | null = null;
  let checkpoints = 0;
  for await (const { text, line } of streamLines(path)) {
    const read = readExportLine(text);
    if (end) faults.add({}, 'export', `line ${line} comes after the last one`);
    if (read?.kind === 'end') end = read;
    else sum.update(`${text}\n`);
    if (!read) faults.add({}, 'export', `line ${line} cannot be read`);
    else if (read.kind === 'intent') reader.intent(read);
    else if (read.kind === 'entry') reader.entry(read);
    else if (read.kind === 'tombstone') reader.tombstone(read);
    else if (read.kind === 'checkpoint') checkpoints += 1;
    if (line % 1_000 === 0) options.onProgress?.(reader.counts);
  }
  reader.endEvent();
  sightings.checkMissing(faults);
  const { notifications, entries, younger } = reader.counts;
  checkEnd(end, { notifications, entries, checkpoints, sha256: sum.digest('hex') }, faults);
  return { notifications, entries, checkpoints, exportedAt: head.exported_at, lastMinuteAt, youngerEntries: younger, inFile: compared.inFile === 0 ? null : compared.inFile };
};
