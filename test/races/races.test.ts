import { afterAll, afterEach, beforeAll, jest } from '@jest/globals';
import { describeOnBackends } from '../support/backends.ts';
import { openArena } from './arena.ts';
import type { Arena } from './arena.ts';
import { racesOnALostLock } from './lost-lock.ts';
import { racesOnOneVersion } from './one-version.ts';
import { racesOfReplays } from './replay.ts';

// Two processes of the product start first, and what takes a minute here takes longer where the machine is busy.
jest.setTimeout(300_000);

describeOnBackends('two processes of the product race', (backend) => {
  let arena: Arena;
  beforeAll(async () => { arena = await openArena(backend); });
  afterEach(() => arena.stopParts());
  afterAll(() => arena.close());
  const open = (): Arena => arena;

  // First: a worker with the service's own lock has the queue looked through for lost ones every half minute only.
  racesOnALostLock(open);
  racesOnOneVersion(open);
  racesOfReplays(open);
});
