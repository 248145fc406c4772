import { expect, test } from '@jest/globals';
import { startDueClock } from '../../services/coordinator/due-clock.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';

const log = createLogger({ level: 'silent', service: 'test', redactPaths: [] });

/** Settled, so that nothing is due but the end of one part of its payload, at that instant. */
const dueAt = (at: number): NotificationState => ({
  ...emptyState('evt_01M8N5Z33ZJVJXYV549VXRE50T'), version: 1, settledAt: 0, expiresAt: 0,
  payload: { parts: ['variables'], addresses: 'retention', variables: 'retention', retryWindowMs: 0, retentionUntil: at, destroyed: {} } as NonNullable<NotificationState['payload']>,
});

test('instants that were told are swept once they have come, near ones together; where none is near the ledger is asked for the next', async () => {
  let tell: (state: NotificationState) => void = () => undefined;
  let asked = 0;
  const sweeps: number[] = [];
  let swept: () => void = () => undefined;
  const both = new Promise<void>((resolve) => { swept = resolve; });
  const now = (): number => performance.now();
  const clock = startDueClock({
    engine: { now, log, ledger: { nextDueAt: () => { asked += 1; swept(); return Promise.resolve(null); } } } as never,
    sweep: () => { sweeps.push(now()); return Promise.resolve(); }, onMoved: (listener) => { tell = listener; }, heldBackMs: 100,
  });
  const at = Math.ceil(now() / 15) * 15 + 60;
  for (const one of [at, at + 1, at + 2, at + 3_600_000]) tell(dueAt(one));
  await both;
  clock.close();
  expect(sweeps).toHaveLength(1);
  expect(sweeps[0]).toBeGreaterThanOrEqual(at + 2);
  expect(asked).toBe(1);
});
