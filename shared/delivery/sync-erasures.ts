import { appendToErasureFile, erasureMac, readErasureFile } from '../ledger/erasure-file.ts';
import { listErasures, recordErasure } from '../ledger/erasures.ts';
import type { RecordedErasure } from '../ledger/erasures.ts';
import type { Engine } from './engine.ts';

export interface KnownErasures {
  /** Every one that this deployment recorded. */
  all: RecordedErasure[];
  /** Those of them that are still to be carried out in this database. */
  due: RecordedErasure[];
  /** How many the database lacked: it was restored from before them. */
  restored: number;
  /** Rows and lines that nobody with the keys wrote; they count for nothing. */
  forged: number;
}

/**
 * Brings the database's erasures and the copy outside of it together, so that either is whole: what a restored database lacks comes back
 * from the file. With `path` null there is no copy.
 */
export const syncErasures = async (engine: Pick<Engine, 'db' | 'ring'>, path: string | null): Promise<KnownErasures> => {
  const stored = await listErasures(engine.db);
  const genuine = stored.filter((one) => erasureMac(engine.ring, one).equals(one.mac));
  const here = new Set(genuine.map((one) => one.erasureId));
  const { erasures: filed, unreadable } = path === null ? { erasures: [], unreadable: 0 } : await readErasureFile(path, engine.ring);
  const there = new Set(filed.map((one) => one.erasureId));
  const restored = filed.filter((one) => !here.has(one.erasureId));
  for (const one of restored) await recordErasure(engine.db, one);
  const missing = genuine.filter((one) => !there.has(one.erasureId));
  if (path !== null && missing.length > 0) await appendToErasureFile(path, missing);
  return { all: [...genuine, ...restored], due: [...genuine.filter((one) => one.due), ...restored], restored: restored.length, forged: stored.length - genuine.length + unreadable };
};
