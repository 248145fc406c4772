import { carryOutErasures } from '../../shared/delivery/erase-person.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { syncErasures } from '../../shared/delivery/sync-erasures.ts';
import { markErasuresApplied } from '../../shared/ledger/erasures.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { repeat } from './repeat.ts';

const EVERY_MS = 60_000;

export interface Erasures {
  /** Carries out what is due and brings the copy up to date; how many were due. */
  tick: () => Promise<number>;
  close: () => Promise<void>;
}

/**
 * Carries out every erasure that was recorded and is not done in this database: one that was broken off, and after a restore all of them,
 * for what was erased is there again. The first look is taken at the start. Several may do so at once.
 */
export const startErasures = ({ engine, file, actor }: { engine: Engine; file: string | null; actor: string }): Erasures => {
  let told = 0;
  const tick = async (): Promise<number> => {
    const { due, restored, forged } = await syncErasures(engine, file);
    if (forged > told) engine.log.error({ event: EVENTS.erasureForged, count: forged });
    told = Math.max(told, forged);
    if (due.length === 0) return 0;
    const counts = await carryOutErasures(engine, due, { actor, onPage: () => { if (duty.isClosed()) throw new Error('stopped'); } });
    await markErasuresApplied(engine.db, due.map((one) => one.erasureId), engine.now());
    engine.log.warn({ event: EVENTS.erasureApplied, erasures: due.length, restored, notifications: counts.notifications });
    return due.length;
  };
  const duty = repeat({
    turn: tick, waitMs: (first) => (first ? 0 : EVERY_MS),
    onError: (error) => { if (!duty.isClosed()) engine.log.warn({ event: EVENTS.erasureFailed, code: (error as { code?: string }).code, error: (error as Error).name }); },
  });
  return { tick, close: duty.close };
};
