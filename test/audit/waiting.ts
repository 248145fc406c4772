import { setTimeout as pause } from 'node:timers/promises';

/** Something that had to come about within a deadline did not. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Looks again and again until `look` brings something; for what sends no signal, such as a database or another process. */
export const until = async <Value>(what: string, look: () => Promise<Value | null>, limits: { withinMs: number; everyMs?: number }): Promise<Value> => {
  const endsAt = performance.now() + limits.withinMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > endsAt) throw new DeadlineError(`${what}: not within ${limits.withinMs} ms`);
    await pause(limits.everyMs ?? 100);
  }
};

/** Resolves to what comes first: the promise, or null after so many milliseconds. */
export const within = async <Value>(ms: number, promise: Promise<Value>): Promise<Value | null> => {
  const over = new AbortController();
  try {
    return await Promise.race([promise, pause(ms, null, { signal: over.signal }).catch(() => null)]);
  } finally {
    over.abort();
  }
};
