import type { Channel } from '../../domain/words.ts';
import { armedFaultPoint } from '../../telemetry/fault-points.ts';
import { createInFlight } from '../in-flight.ts';
import type { TransportSettings } from '../open-transports.ts';
import { openTransport } from '../open-transports.ts';
import type { InboundRequest, LookUpRequest, StatusRequest, SubmitRequest, Transport } from '../transport.ts';
import type { Asked, CallThread } from './thread.ts';
import { openCallThread, startWorker } from './thread.ts';
import type { CopiedSubmission, Method, ResultOf } from './words.ts';
import { KEPT_HERE, systemMs } from './words.ts';

/** The submission as it can be copied; null where it has to be made here, for what it carries is read as it is sent. */
const copied = ({ attemptKey, message, startWithinMs, limitMs, openArtifact }: SubmitRequest): CopiedSubmission | null => (openArtifact || startWithinMs === undefined
  ? null
  : { attemptKey, message, startsBy: systemMs() + startWithinMs, ...(limitMs === undefined ? {} : { limitMs }) });

// Field by field: what cannot be copied would fail all that is told along with it.
const statusOf = ({ attemptKey, providerMessageId, to }: StatusRequest): StatusRequest => ({ attemptKey, providerMessageId, to });
const lookUpOf = ({ attemptKey, reference, to, from, submissionStartedAt }: LookUpRequest): LookUpRequest => ({ attemptKey, reference, to, from, submissionStartedAt });
const inboundOf = ({ to, since, page }: InboundRequest): InboundRequest => ({ to, since, page });

/** Of one channel; `onClosed` is called once nothing of it is under way. */
const openOne = (here: Transport, thread: CallThread, onClosed: () => Promise<void>): Transport => {
  const { name, channel, capabilities, statusByRecipient } = here;
  const inFlight = createInFlight();
  let closed = false;
  const call = <M extends Method>(method: M, request: unknown): Promise<ResultOf<M>> =>
    inFlight.track(thread.call({ channel, method, request } as Asked) as Promise<ResultOf<M>>);
  const { readStatus, lookUp, readInbound } = here;
  return {
    name, channel, capabilities, ...(statusByRecipient && { statusByRecipient }),
    submit: (request) => {
      const copy = closed ? null : copied(request);
      return copy ? call('submit', copy) : here.submit(request);
    },
    ...(readStatus && { readStatus: (request) => (closed ? readStatus(request) : call('readStatus', statusOf(request))) }),
    ...(lookUp && { lookUp: (request) => (closed ? lookUp(request) : call('lookUp', lookUpOf(request))) }),
    ...(readInbound && { readInbound: (request) => (closed ? readInbound(request) : call('readInbound', inboundOf(request))) }),
    close: async () => {
      closed = true;
      await Promise.allSettled([inFlight.drained(), here.close()]);
      await onClosed();
    },
  };
};

/** One transport for each channel, in their order. */
type Opened<Channels extends readonly Channel[]> = { -readonly [Index in keyof Channels]: Transport };

/**
 * Opens the configured transports of these channels, whose calls are made in one thread beside this one: HTTP and SMTP cost a service more of its event loop than
 * all that it decides. Each behaves as one of `openTransport` does; what a message carries besides its text is sent from this thread.
 *
 * Where the thread ends by itself, the calls under way throw, for nothing is known of them, and the next one starts another.
 */
export const openThreadedTransports = <const Channels extends readonly Channel[]>(channels: Channels, settings: TransportSettings, start = startWorker): Opened<Channels> => {
  const { now, ...copiedSettings } = settings;
  const thread = openCallThread({ settings: { channels, transports: copiedSettings, killAt: armedFaultPoint() }, aheadMs: () => now() - Date.now(), start });
  const open = new Set<Channel>(channels);
  return channels.map((channel) => openOne(openTransport(channel, settings, KEPT_HERE), thread, async () => {
    open.delete(channel);
    if (open.size === 0) await thread.end();
  })) as Opened<Channels>;
};
