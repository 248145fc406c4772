import type { Engine } from '../../shared/delivery/engine.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';

/** Instants this near share a sweep: a sweep costs the same whether it finds one that is due or twenty. */
const GRAIN_MS = 25;
/** A sweep so near makes a question for the next due instant needless. */
const LOOK_AHEAD_GRAINS = 4;
/** What is further away is found by the repeated tick. */
const HORIZON_MS = 1_000;

export interface DueClockSettings {
  engine: Pick<Engine, 'now' | 'log' | 'ledger'>;
  sweep: () => Promise<void>;
  onMoved: (listener: (state: NotificationState) => void) => void;
  /** How soon to come back for what is due and yet was not taken: a provider's rate held it back. */
  heldBackMs: number;
}

export interface DueClock {
  /** Asks the ledger for the next due instant, which may have been laid by somebody else. */
  lookAhead: () => Promise<void>;
  close: () => void;
}

/** When something of a notification is due next: a decision, or a status read. */
const dueAtOf = (state: NotificationState): number =>
  Math.min(nextDecideAt(state) ?? Infinity, ...state.attempts.map(({ nextPollAt }) => nextPollAt ?? Infinity));

/**
 * Sweeps at each due instant by one timer of this process. It is told of the instants as they are committed, and only a hint like a job:
 * the sweep reads what is due from the ledger, and the repeated tick finds whatever was not told.
 */
export const startDueClock = ({ engine, sweep, onMoved, heldBackMs }: DueClockSettings): DueClock => {
  let closed = false;
  /** Grains of the clock at which something is due. */
  const grains = new Set<number>();
  let timer: NodeJS.Timeout | null = null;
  let setFor = Infinity;

  const arm = (): void => {
    const next = Math.min(...grains);
    if (closed || next >= setFor) return;
    if (timer) clearTimeout(timer);
    setFor = next;
    // A timer may be a fraction of a millisecond early; then nothing would be due yet.
    timer = setTimeout(() => void fire(), Math.max(0, Math.ceil(next * GRAIN_MS - engine.now()) + 1));
  };
  const lay = (at: number): void => {
    const now = engine.now();
    if (closed || at - now > HORIZON_MS) return;
    grains.add(Math.floor(Math.max(at, now) / GRAIN_MS) + 1);
    arm();
  };
  const lookAhead = async (): Promise<void> => {
    const due = await engine.ledger.nextDueAt(engine.now());
    if (due !== null) lay(due > engine.now() ? due : engine.now() + heldBackMs);
  };
  const fire = async (): Promise<void> => {
    setFor = Infinity;
    timer = null;
    const now = engine.now() / GRAIN_MS;
    for (const grain of grains) if (grain <= now) grains.delete(grain);
    try {
      await sweep();
      // Where the next sweep is near anyway, the one after it finds what was laid by somebody else.
      if (Math.min(...grains) > now + LOOK_AHEAD_GRAINS) await lookAhead();
    } catch (error) {
      engine.log.warn({ event: EVENTS.sweepFailed, error: (error as Error).name });
    }
    arm();
  };
  onMoved((state) => {
    const at = dueAtOf(state);
    if (at < Infinity) lay(at);
  });
  return {
    lookAhead,
    close: () => {
      closed = true;
      if (timer) clearTimeout(timer);
    },
  };
};
