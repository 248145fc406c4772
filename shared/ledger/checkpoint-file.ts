import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { PublicKey } from '../security/signing-key.ts';
import { readLine, toLine } from './checkpoint.ts';
import type { Checkpoint } from './checkpoint.ts';
import { NO_LINK, followGenuine, readGenuine, stands } from './checkpoint-genuine.ts';
import type { Link } from './checkpoint-genuine.ts';
import type { Asker } from './checkpoint-read.ts';

export type FileLine = { line: number; checkpoint: (Checkpoint & { ledger: string }) | null };

/** Where the last whole line ends, in bytes. */
const endOfLines = async (file: FileHandle): Promise<number> => {
  const chunk = Buffer.alloc(65_536);
  for (let end = (await file.stat()).size; end > 0;) {
    const start = Math.max(0, end - chunk.length);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    const newline = chunk.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (newline >= 0) return start + newline + 1;
    end = start;
  }
  return 0;
};

/** How far a checkpoint file can be read: to the end of its last whole line. Null where there is no file. */
export const checkpointFileEnd = async (path: string): Promise<number | null> => {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (!file) return null;
  try {
    return await endOfLines(file);
  } finally {
    await file.close();
  }
};

/** The lines of a checkpoint file up to `end` (bytes, as `checkpointFileEnd` says), one at a time. */
export const streamCheckpointFile = async function* (path: string, end: number): AsyncGenerator<FileLine> {
  if (end === 0) return;
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(path, { end: end - 1 }), crlfDelay: Infinity })) {
    line += 1;
    if (text !== '') yield { line, checkpoint: readLine(text) };
  }
};

export interface CheckpointFile {
  /**
   * Writes the genuine checkpoints that the file lacks, flushed to disk; none as long as the ledger has no id (null). Under the
   * lock; returns how many it wrote.
   */
  catchUp: (asker: Asker, ledger: string | null) => Promise<number>;
}

/** Cuts off what a crash left of a line that was never finished; its checkpoint is written again. Returns the size then. */
const endAtLine = async (path: string): Promise<number> => {
  const file = await open(path, 'r+');
  try {
    const end = await endOfLines(file);
    if (end < (await file.stat()).size) await file.truncate(end);
    return end;
  } finally {
    await file.close();
  }
};

/** The newest genuine line; what else stands in the file does not count. */
const lastOf = async (path: string, end: number, { ledger, keys }: { ledger: string; keys: readonly PublicKey[] }): Promise<Checkpoint | null> => {
  let last: Checkpoint | null = null;
  for await (const { checkpoint } of streamCheckpointFile(path, end)) {
    if (checkpoint?.ledger === ledger && checkpoint.sequence > (last?.sequence ?? 0) && readGenuine(checkpoint, keys)?.ledger === ledger) last = checkpoint;
  }
  return last;
};

/** `at`: how far the table was followed. `sequence`: the newest one in the file; further where the database was put back. */
interface Known { size: number; ledger: string; at: Link; signature: Buffer | null; sequence: number }

const readKnown = async (asker: Asker, path: string, of: { size: number; ledger: string; keys: readonly PublicKey[] }): Promise<Known> => {
  const last = await lastOf(path, of.size, of);
  const goesOn = last !== null && await stands(asker, last);
  return { size: of.size, ledger: of.ledger, at: goesOn ? last : NO_LINK, signature: goesOn ? last.signature : null, sequence: last?.sequence ?? 0 };
};

/**
 * The copy of the checkpoints outside of the database: JSON lines, only ever appended to, and only what one of `keys` signed.
 * Every coordinator keeps a whole one, so it may lie on any of their hosts; several on one host may share it.
 */
export const openCheckpointFile = (path: string, keys: readonly PublicKey[]): CheckpointFile => {
  // What was read up to here need not be read again, as long as nobody else has written.
  let known: Known | null = null;
  return {
    catchUp: async (asker, ledger) => {
      if (ledger === null) return 0;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(path, 'a', 0o600);
      try {
        const size = await endAtLine(path);
        const fresh = known?.size === size && known.ledger === ledger && (known.signature === null || await stands(asker, { sequence: known.at.sequence, signature: known.signature }));
        const next = fresh && known ? { ...known } : await readKnown(asker, path, { size, ledger, keys });
        known = null;
        let written = 0;
        for await (const { stored } of followGenuine(asker, next.at, keys)) {
          next.at = stored;
          next.signature = stored.signature;
          if (stored.sequence <= next.sequence) continue;
          const text = `${toLine(stored, ledger)}\n`;
          await file.appendFile(text);
          next.size += Buffer.byteLength(text);
          next.sequence = stored.sequence;
          written += 1;
        }
        if (written > 0) await file.sync();
        known = next;
        return written;
      } finally {
        await file.close();
      }
    },
  };
};
