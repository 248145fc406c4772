import type { QueueName } from './queue-names.ts';

/** Ids only: job data is clear text and may be lost at any time. */
export type JobPayload = Readonly<Record<string, string | number>>;

/** A hint that something may be due. */
export interface WorkJob {
  /** Deduplicates only while a job of this id waits, is delayed or runs. No integer, no colon. */
  id: string;
  name: string;
  payload: JobPayload;
  delayMs?: number;
  /** Keeps the job when its handler answers `failedReason`; for the dead-letter queues. */
  keepFailed?: boolean;
}

export interface TakenJob { id: string; name: string; payload: JobPayload }

/**
 * What a handler made of a job: `done` removes it, `retryAtMs` (epoch) runs it again then and uses up no attempt,
 * `failedReason` (a reason code) parks a `keepFailed` job as failed for an operator.
 */
export type HandlerResult = 'done' | { retryAtMs: number } | { failedReason: string };

export interface WorkerSettings {
  /** Jobs at a time. */
  concurrency: number;
  /** How long a job is ours without renewal; must exceed the longest block of the event loop. */
  lockDurationMs: number;
  handler: (job: TakenJob) => Promise<HandlerResult>;
}

export interface RunningWorker {
  readonly queue: QueueName;
  /** Resolves once the worker has reached its backend for the first time. */
  whenReady(): Promise<void>;
  /** Takes no more jobs and waits for those in hand, at most `graceMs` (2.5 s); what then still runs is left to its lock. */
  close(graceMs?: number): Promise<void>;
}

export type ReportError = (error: Error, where: string) => void;

export type JobState = 'waiting' | 'active' | 'delayed' | 'failed';
export type QueueCounts = Record<QueueName, Record<JobState, number>>;

/** The backend did not answer in time; nothing is known to have been enqueued. */
export class QueueAway extends Error {
  override readonly name = 'QueueAway';
  constructor(cause?: unknown) {
    super('the queue backend is away', { cause });
  }
}

export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
