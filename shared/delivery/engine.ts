import { setTimeout as wait } from 'node:timers/promises';
import type { NotificationState } from '../domain/state.ts';
import type { Channel, EventId } from '../domain/words.ts';
import type { Carrier } from '../domain/work.ts';
import type { PriceList } from '../config/price-config.ts';
import { NO_PRICES } from '../config/price-config.ts';
import type { ArtifactStore } from '../content/artifacts/artifact-store.ts';
import { noArtifactStore } from '../content/artifacts/artifact-store.ts';
import { generateSalt } from '../security/commitment.ts';
import type { KeyRing } from '../security/key-ring.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { processMetrics } from '../telemetry/metrics.ts';
import type { Database } from '../ledger/database.ts';
import type { LedgerPort } from '../ledger/ledger-port.ts';
import { createPostgresLedger } from '../ledger/postgres-ledger.ts';
import type { EnqueuedAttempt } from './hand-over.ts';
import type { Hands } from './hands.ts';
import { noHands } from './hands.ts';
import { mintEventId } from './mint-event-id.ts';
import { noRecent } from './recent.ts';
import type { Recent } from './recent.ts';
import type { SenderPrints } from '../ledger/rows.ts';
import { mailingPrint, senderPrints } from './suppression.ts';
import { createVersionStore } from './versions.ts';
import type { VersionStore } from './versions.ts';

/** What must not be guessed: production draws it from the system's randomness, a simulation from its seed. */
export interface Mint { eventId: (now: number) => EventId; salt: () => string }

/** A question to an origin system that was just committed; its answer is waited for until `askedUntil`. */
export interface AskedOrigin { eventId: EventId; askedUntil: number; wanted: 'claim' | 'submission' }

/** What the use cases work with. One per process. */
export interface Engine {
  /** For reads outside the use cases. */
  db: Database;
  ledger: LedgerPort;
  load: LedgerPort['load'];
  append: LedgerPort['append'];
  accept: LedgerPort['accept'];
  versions: VersionStore;
  /** What this process has just seen of notifications. */
  recent: Recent;
  /** The workers of this process, where it has any at hand. */
  hands: Hands;
  ring: KeyRing;
  /** Now, in milliseconds since the epoch; the database's clock in production, injected in tests. */
  now: () => number;
  /** Monotonic milliseconds, for fences and limits. */
  monotonic: () => number;
  random: () => number;
  /** The host's own clock, by which the queue counts its delays; for nothing else. */
  hostNow: () => number;
  /** Resolves after that many milliseconds. */
  wait: (ms: number) => Promise<unknown>;
  mint: Mint;
  carriers: Record<Channel, Carrier>;
  sender: { sms: string; email: string };
  /** Where the bytes of artifacts are. */
  artifacts: ArtifactStore;
  /** By which the suppression list knows our senders. */
  senderPrints: SenderPrints;
  /** By which it knows our sender of mail that is not transactional. */
  mailingPrint: string | null;
  log: Logger;
  metrics: Metrics;
  /** For the estimate of costs. */
  prices: PriceList;
  /** Called after a commit that wrote outbox rows. */
  onEnqueued: (attempts: readonly EnqueuedAttempt[]) => void;
  /** Called after every commit, with the state it led to: when something is due next may have changed. */
  onMoved: (state: NotificationState) => void;
  /** Called after a commit that asks an origin system; where nobody asks, the question lapses as an error. */
  onAsked: (question: AskedOrigin) => void;
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
  onEnqueued?: (attempts: readonly EnqueuedAttempt[]) => void;
  onMoved?: (state: NotificationState) => void;
  onAsked?: (question: AskedOrigin) => void;
  /** Postgres on `db` where none is given; so the versions. */
  ledger?: LedgerPort;
  versions?: VersionStore;
  hostNow?: () => number;
  wait?: (ms: number) => Promise<unknown>;
  mint?: Mint;
  /** Without one, artifacts can be neither stored nor sent. */
  artifacts?: ArtifactStore;
  /** Nothing is kept where none is given. */
  recent?: Recent;
  /** No one is at hand where none are given. */
  hands?: Hands;
  /** The process's own where none are given. */
  metrics?: Metrics;
  /** Without them nothing costs anything. */
  prices?: PriceList;
}

const systemMint: Mint = { eventId: mintEventId, salt: generateSalt };

/** Puts an engine together. */
export const createEngine = (settings: EngineSettings): Engine => {
  const monotonic = settings.monotonic ?? (() => performance.now());
  const metrics = settings.metrics ?? processMetrics;
  const ledger = settings.ledger ?? createPostgresLedger(settings.db, metrics);
  return {
    ...settings,
    metrics,
    prices: settings.prices ?? NO_PRICES,
    senderPrints: senderPrints(settings.ring, settings.sender),
    mailingPrint: mailingPrint(settings.ring, settings.sender),
    monotonic,
    random: settings.random ?? Math.random,
    hostNow: settings.hostNow ?? Date.now,
    wait: settings.wait ?? wait,
    mint: settings.mint ?? systemMint,
    artifacts: settings.artifacts ?? noArtifactStore,
    recent: settings.recent ?? noRecent,
    hands: settings.hands ?? noHands,
    ledger,
    load: ledger.load,
    append: ledger.append,
    accept: ledger.accept,
    versions: settings.versions ?? createVersionStore(settings.db, monotonic),
    onEnqueued: settings.onEnqueued ?? (() => undefined),
    onMoved: settings.onMoved ?? (() => undefined),
    onAsked: settings.onAsked ?? (() => undefined),
  };
};
