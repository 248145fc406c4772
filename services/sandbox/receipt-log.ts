import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** An append-only file of JSON lines that is on disk before anyone hears of it. */
export interface ReceiptLog {
  /** Resolves once the line is flushed; rejects where the disk refused it, and then nothing may be acknowledged. */
  append(line: object): Promise<void>;
  /** Flushes what waits and closes the file. */
  close(): Promise<void>;
}

interface Waiting { text: string; done: () => void; failed: (reason: unknown) => void }

/** The lines of an earlier run, and how many bytes of the file they are: a torn last line was never answered, so it does not count. */
const readEarlier = async (file: FileHandle): Promise<{ lines: unknown[]; bytes: number }> => {
  const content = await file.readFile();
  const bytes = content.lastIndexOf(0x0a) + 1;
  const lines = content.subarray(0, bytes).toString('utf8').split('\n').filter((line) => line !== '').map((line, index) => {
    try {
      return JSON.parse(line) as unknown;
    } catch (cause) {
      throw new Error(`receipt log: line ${index + 1} is not JSON`, { cause });
    }
  });
  return { lines, bytes };
};

/** Lines that arrive while a flush is under way share the next one: that is what keeps thousands of receipts a second possible. */
const createAppender = (file: FileHandle): ReceiptLog => {
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | null = null;

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        await file.appendFile(group.map((line) => line.text).join(''));
        await file.datasync();
        for (const line of group) line.done();
      } catch (reason) {
        for (const line of group) line.failed(reason);
      }
    }
    flushing = null;
  };

  return {
    append: (line) => new Promise((done, failed) => {
      waiting.push({ text: `${JSON.stringify(line)}\n`, done, failed });
      flushing ??= flush();
    }),
    async close() {
      await flushing;
      await file.close();
    },
  };
};

/**
 * Opens the log for appending and reads what an earlier run left. Without a path nothing is kept. Throws where the file
 * cannot be opened or holds a line that is not JSON: a damaged audit is a person's business.
 */
export const openReceiptLog = async (path: string | undefined): Promise<{ log: ReceiptLog; earlier: unknown[] }> => {
  if (path === undefined) return { log: { append: () => Promise.resolve(), close: () => Promise.resolve() }, earlier: [] };
  const file = await open(path, 'a+', 0o600);
  try {
    const { lines, bytes } = await readEarlier(file);
    await file.truncate(bytes);
    return { log: createAppender(file), earlier: lines };
  } catch (reason) {
    await file.close();
    throw reason;
  }
};
