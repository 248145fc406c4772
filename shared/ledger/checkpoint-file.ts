import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { readLine, toLine } from './checkpoint.ts';
import type { Checkpoint } from './checkpoint.ts';
import { lastCheckpoint, streamCheckpoints } from './checkpoint-read.ts';
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
  /** Writes the checkpoints that the file lacks, flushed to disk. Under the lock; returns how many it wrote. */
  catchUp: (asker: Asker) => Promise<number>;
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

const lastOf = async (path: string, end: number, ledger: string): Promise<number> => {
  let last = 0;
  for await (const { checkpoint } of streamCheckpointFile(path, end)) if (checkpoint?.ledger === ledger) last = Math.max(last, checkpoint.sequence);
  return last;
};

/**
 * The copy of the checkpoints outside of the database: JSON lines, only ever appended to. Every coordinator keeps a whole one, so
 * it may lie on any of their hosts; several on one host may share it.
 */
export const openCheckpointFile = (path: string): CheckpointFile => {
  // What was read up to here need not be read again, as long as nobody else has written.
  let known: { size: number; ledger: string; sequence: number } | null = null;
  return {
    catchUp: async (asker) => {
      const newest = await lastCheckpoint(asker);
      if (!newest) return 0;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(path, 'a', 0o600);
      try {
        let size = await endAtLine(path);
        let last = known && known.size === size && known.ledger === newest.ledger ? known.sequence : await lastOf(path, size, newest.ledger);
        let written = 0;
        for await (const one of streamCheckpoints(asker, last)) {
          const text = `${toLine(one, newest.ledger)}\n`;
          await file.appendFile(text);
          size += Buffer.byteLength(text);
          last = one.sequence;
          written += 1;
        }
        if (written > 0) await file.sync();
        known = { size, ledger: newest.ledger, sequence: last };
        return written;
      } finally {
        await file.close();
      }
    },
  };
};
