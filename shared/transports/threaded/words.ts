import type { Channel } from '../../domain/words.ts';
import type { TransportSettings } from '../open-transports.ts';
import type { InboundRequest, LookUpRequest, StatusRequest, SubmitRequest, Transport } from '../transport.ts';

/** Of a channel's connections, those for what has to be sent from the thread that asks: they are few, and each is busy for as long as its attachments are. */
export const KEPT_HERE = 4;

/** What a thread of transports is started with: all that can be copied to it. */
export interface ThreadSettings {
  channels: readonly Channel[];
  transports: Omit<TransportSettings, 'now'>;
  /** The fault point that is armed in this process, as it was told. */
  killAt: string | null;
}

/** A submission that can be copied: its fence is an instant, and nothing that it carries is read from here. */
export type CopiedSubmission = Pick<SubmitRequest, 'attemptKey' | 'message' | 'limitMs'> & {
  /** By `systemMs`: later than that nothing may be written. */
  startsBy: number;
};

/** One call, named by its number. */
export type Call = { id: number; channel: Channel } & (
  | { method: 'submit'; request: CopiedSubmission }
  | { method: 'readStatus'; request: StatusRequest }
  | { method: 'lookUp'; request: LookUpRequest }
  | { method: 'readInbound'; request: InboundRequest }
);

/** What the thread is told: the calls of one turn of the event loop, and by how much the injected clock is ahead of the machine's; or to close its transports and end. */
export type Told = { calls: Call[]; aheadMs: number } | 'end';

/** What one call came to; `error` where the transport threw. */
export type Answer = { id: number } & ({ result: unknown } | { error: { name: string; message: string } });

/** The methods of a transport that can be called across threads. */
export type Method = Call['method'];
export type ResultOf<M extends Method> = Awaited<ReturnType<NonNullable<Transport[M]>>>;

/** Milliseconds of the machine's monotonic clock: the same for every thread of a process, which `performance.now()` is not. */
export const systemMs = (): number => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
};
