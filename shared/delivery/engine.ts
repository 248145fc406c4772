import type { Channel } from '../domain/words.ts';
import type { Carrier } from '../domain/work.ts';
import type { KeyRing } from '../security/key-ring.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Database } from '../ledger/database.ts';
import { createAppender } from '../ledger/appender.ts';
import type { Appender } from '../ledger/appender.ts';
import { createLoader } from '../ledger/load.ts';
import type { Loader } from '../ledger/load.ts';
import { createAcceptor } from '../ledger/accept-group.ts';
import { createVersionStore } from './versions.ts';
import type { VersionStore } from './versions.ts';

/** What the use cases work with. One per process. */
export interface Engine {
  db: Database;
  load: Loader;
  append: Appender;
  accept: ReturnType<typeof createAcceptor>;
  versions: VersionStore;
  ring: KeyRing;
  /** Now, in milliseconds since the epoch; the database's clock in production, injected in tests. */
  now: () => number;
  /** Monotonic milliseconds, for fences and limits. */
  monotonic: () => number;
  random: () => number;
  carriers: Record<Channel, Carrier>;
  sender: { sms: string; email: string };
  log: Logger;
  /** Called after a commit that wrote outbox rows. */
  onEnqueued: () => void;
}

export interface EngineSettings {
  db: Database;
  ring: KeyRing;
  carriers: Record<Channel, Carrier>;
  sender: { sms: string; email: string };
  log: Logger;
  now: () => number;
  monotonic?: () => number;
  random?: () => number;
  onEnqueued?: () => void;
}

/** Puts an engine together. */
export const createEngine = (settings: EngineSettings): Engine => {
  const monotonic = settings.monotonic ?? (() => performance.now());
  return {
    ...settings,
    monotonic,
    random: settings.random ?? Math.random,
    load: createLoader(settings.db),
    append: createAppender(settings.db),
    accept: createAcceptor(settings.db),
    versions: createVersionStore(settings.db, monotonic),
    onEnqueued: settings.onEnqueued ?? (() => undefined),
  };
};
