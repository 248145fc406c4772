import { optOutWordOf } from '../domain/opt-out-words.ts';
import { isDatabaseAway } from '../ledger/database.ts';
import { claimInbound, finishInbound, hearWord } from '../ledger/inbound-words.ts';
import type { InboundLine } from '../ledger/inbound-words.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { InboundMessage, InboundReading, Transport } from '../transports/transport.ts';
import type { Engine } from './engine.ts';
import { addressPrint, normaliseAddress } from './suppression.ts';

/** A listing may show a message late, and its clock is not ours: so much is read again each time. */
const OVERLAP_MS = 5 * 60_000;
/** Where the very first read begins: whoever asked before this deployment listened is heard too. */
const FIRST_LOOK_BACK_MS = 7 * 86_400_000;
/** Against a listing that never ends. */
const MOST_PAGES = 10_000;

/** How often a line is read, and how long one read may take before another process may begin. */
export interface HearingSettings { everyMs: number; busyMs: number }

type ReadingTransport = Transport & Required<Pick<Transport, 'readInbound'>>;
const canRead = (transport: Transport): transport is ReadingTransport => transport.readInbound !== undefined;

/** A number, a short code or a messaging service; nobody can text back to a name. */
const canBeAnswered = (sender: string): boolean => /^(?:\+?\d+|MG[0-9a-f]{32})$/i.test(sender);

/** Does what one message says, where it is a word and comes from a number; anything else is neither kept nor told. */
const hear = async (engine: Engine, line: InboundLine, { id, from, text, receivedAt }: InboundMessage): Promise<void> => {
  const word = optOutWordOf(text);
  const address = word && normaliseAddress('sms', from);
  if (word === null || !address) return;
  const result = await hearWord(engine.db, { ...line, messageId: id, word, addressPrint: addressPrint(engine.ring, 'sms', address), receivedAt, now: engine.now() });
  if (result === null) return;
  engine.metrics.optOuts.inc({ kind: word, result });
  engine.log.info({ event: EVENTS.wordHeard, provider: line.provider, word, result });
};

/** One that cannot be booked must not keep the others of its line unheard. The cursor stays before it, so that it is tried with every read until a person has looked. */
const isHeard = async (engine: Engine, line: InboundLine, message: InboundMessage): Promise<boolean> => {
  try {
    await hear(engine, line, message);
    return true;
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    const { name, code } = error as Error & { code?: string };
    engine.log.error({ event: EVENTS.inboundFailed, provider: line.provider, error: name, ...(code === undefined ? {} : { code }) });
    return false;
  }
};

type Heard = { kind: 'heard' } | Extract<InboundReading, { kind: 'read_failed' }>;
const NOT_ALL: Heard = { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null };

const hearAll = async (engine: Engine, transport: ReadingTransport, line: InboundLine, since: number): Promise<Heard> => {
  let page: string | null = null;
  let isWhole = true;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const calledAt = engine.monotonic();
    const reading: InboundReading = await transport.readInbound({ to: engine.sender.sms, since, page });
    engine.metrics.callSeconds.observe({ provider: line.provider, call: 'inbound' }, (engine.monotonic() - calledAt) / 1000);
    engine.metrics.polls.inc({ provider: line.provider, call: 'inbound', outcome: reading.kind });
    if (reading.kind === 'read_failed') return reading;
    // The oldest of a page first; between pages, the ledger itself minds what was said last.
    for (const message of reading.messages.toReversed()) isWhole = await isHeard(engine, line, message) && isWhole;
    if (reading.next === null) return isWhole ? { kind: 'heard' } : NOT_ALL;
    page = reading.next;
  }
  return NOT_ALL;
};

/**
 * Reads what recipients texted back since the last read, where the provider can be asked and a read is due, and does what STOP and START
 * say. True where it read. The cursor moves on only when all was read, and each message counts once, so that a crash or a second
 * reader changes nothing.
 */
export const hearRecipients = async (engine: Engine, transport: Transport, { everyMs, busyMs }: HearingSettings): Promise<boolean> => {
  const { sms } = engine.senderPrints;
  if (transport.channel !== 'sms' || !canRead(transport) || sms === null || !canBeAnswered(engine.sender.sms)) return false;
  const line = { provider: transport.name, senderPrint: Buffer.from(sms, 'hex') };
  const startedAt = engine.now();
  const readUntil = await claimInbound(engine.db, line, { now: startedAt, busyUntil: startedAt + Math.max(everyMs, busyMs), firstFrom: startedAt - FIRST_LOOK_BACK_MS });
  if (readUntil === null) return false;
  const heard = await hearAll(engine, transport, line, readUntil - OVERLAP_MS);
  if (heard.kind === 'heard') await finishInbound(engine.db, line, { readUntil: startedAt, nextAt: startedAt + everyMs });
  else {
    await finishInbound(engine.db, line, { readUntil: null, nextAt: engine.now() + Math.max(everyMs, heard.retryAfterMs ?? 0) });
    engine.log.warn({ event: EVENTS.inboundFailed, provider: line.provider, reason: heard.reason });
  }
  return true;
};
