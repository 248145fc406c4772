import { createHash } from 'node:crypto';
import type { Channel, Outcome } from '../../shared/domain/words.ts';
import { referenceOf } from '../../shared/domain/words.ts';
import type { Capabilities, LookUpResult, ProviderName, StatusReading, SubmitResult } from '../../shared/domain/provider-answers.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import type { Process, Surroundings } from './process.ts';
import { goOn, strike } from './process.ts';
import { stream } from './random.ts';

/** A call whose bytes reached the provider; the provider's own book, which no fault can touch. */
export interface Receipt {
  attemptKey: string; channel: Channel; at: number; contentHash: string; messageId: string | null;
  /** What the message comes to: instants and outcomes, the last one final. */
  fate: { at: number; outcome: Outcome }[];
}

export interface SimulatedProvider {
  transport: (process: Process, channel: Channel) => Transport;
  readonly receipts: readonly Receipt[];
}

export interface ProviderSettings {
  seed: number;
  carriers: Record<Channel, { name: ProviderName; capabilities: Capabilities }>;
  timeoutMs: number;
  startedAt: number;
  onReceipt: (receipt: Receipt, writtenAt: number) => void;
  /** A definite *not now*, with the wish that came with it. */
  onDeferred: (attemptKey: string, at: number, retryAfterMs: number) => void;
  /** A name for a key that is the same in every replay. */
  nameOf: (attemptKey: string) => string;
}

const raw = { httpStatus: 200, text: 'to +12025550101' };
const FINAL: readonly Outcome[] = ['delivered', 'delivered', 'delivered', 'delivered', 'undelivered', 'rejected', 'suppressed'];

const refusalAs = (as: 'rejected' | 'suppressed' | 'provider_unavailable'): SubmitResult => (as === 'provider_unavailable'
  ? { kind: as, reason: 'provider_auth', raw } : { kind: 'rejected', outcome: as, reason: as === 'rejected' ? 'invalid_destination' : 'opted_out', raw });

interface Answer { result: SubmitResult; take: boolean; slowMs?: number }

export const createProvider = (around: Surroundings, settings: ProviderSettings): SimulatedProvider => {
  const { scheduler, faults, latency } = around;
  const receipts: Receipt[] = [];
  const calls = new Map<string, number>();
  const notFound = new Map<string, number>();
  const slowness = faults.all('slow-coordinators')[0]?.readsByMs ?? 0;

  const fateOf = (channel: Channel, name: string): Receipt['fate'] => {
    const random = stream(settings.seed, 'fate', name);
    const fate: Receipt['fate'] = [{ at: scheduler.now, outcome: 'pending' }];
    const bounced = faults.next('bounced-later');
    if (bounced) {
      const deliveredAt = scheduler.now + bounced.deliveredAfterMs;
      return [...fate, { at: deliveredAt, outcome: 'delivered' }, { at: deliveredAt + bounced.bouncesAfterMs, outcome: 'undelivered' }];
    }
    if (random.chance(0.7)) fate.push({ at: scheduler.now + random.between(100, 8_000), outcome: 'accepted' });
    const settles = channel === 'email' ? 0.3 : 0.75;
    if (random.chance(settles)) fate.push({ at: (fate.at(-1)?.at ?? 0) + random.between(200, random.chance(0.7) ? 20_000 : 90_000), outcome: random.pick(FINAL) });
    if (fate.at(-1)?.outcome === 'delivered' && random.chance(0.1)) fate.push({ at: (fate.at(-1)?.at ?? 0) + random.between(50, 4_000), outcome: 'undelivered' });
    return fate;
  };

  /** What this call is answered, from its own draws and the faults of the plan. */
  const answerOf = (name: string, channel: Channel, messageId: string): Answer => {
    const pass = (calls.get(name) ?? 0) + 1;
    calls.set(name, pass);
    const random = stream(settings.seed, 'call', name, pass);
    const accepted: SubmitResult = { kind: 'accepted', providerMessageId: messageId };
    const busy = faults.all('provider-busy').find((one) => scheduler.now >= settings.startedAt + one.at && scheduler.now < settings.startedAt + one.at + one.forMs);
    if (busy) faults.struck(busy);
    const barred = faults.all('account-refused').find((one) => one.channel === channel && scheduler.now >= settings.startedAt + one.at && scheduler.now < settings.startedAt + one.at + one.forMs);
    if (barred) {
      faults.struck(barred);
      return { result: { kind: 'provider_unavailable', reason: 'provider_account', raw }, take: false };
    }
    const limited = faults.next('rate-limited');
    const lost = faults.next('response-lost');
    const failing = faults.next('error-though-taken');
    const bare = faults.next('answer-without-id');
    const refused = faults.next('refused');
    if (busy) return { result: { kind: 'deferred', reason: 'provider_temporary', retryAfterMs: null, raw }, take: false, slowMs: busy.slowMs };
    if (limited) return { result: { kind: 'deferred', reason: 'rate_limited', retryAfterMs: limited.retryAfterMs, raw }, take: false };
    if (lost) return { result: { kind: 'unknown', reason: 'lost_response' }, take: lost.taken };
    if (failing) return { result: { kind: 'unknown', reason: 'provider_error', raw }, take: true };
    if (bare) return { result: { kind: 'unknown', reason: 'answer_without_id', raw }, take: true };
    if (refused) return { result: refusalAs(refused.as), take: false };
    const draw = random.next();
    if (draw < 0.05) return { result: refusalAs('rejected'), take: false };
    if (draw < 0.08) return { result: refusalAs('suppressed'), take: false };
    if (draw < 0.1) return { result: refusalAs('provider_unavailable'), take: false };
    if (draw < 0.16) return { result: { kind: 'deferred', reason: 'provider_temporary', retryAfterMs: random.pick([null, 0, 3_000]), raw }, take: false };
    return { result: accepted, take: true };
  };

  /** A provider that keeps keys answers a repeated one with the message it has, and makes no second one. */
  const known = (attemptKey: string, channel: Channel): Receipt | undefined =>
    (settings.carriers[channel].capabilities.dedup === 'replay' ? receipts.find((one) => one.attemptKey === attemptKey && one.messageId !== null) : undefined);

  const receive = (attemptKey: string, channel: Channel, message: unknown, writtenAt: number): Answer => {
    const name = settings.nameOf(attemptKey);
    const messageId = `M-${name}-${(calls.get(name) ?? 0) + 1}`;
    const before = known(attemptKey, channel);
    const answer = answerOf(name, channel, messageId);
    if (before !== undefined) {
      answer.take = false;
      if (answer.result.kind === 'accepted') answer.result = { ...answer.result, providerMessageId: before.messageId as string };
      else answer.result = { kind: 'unknown', reason: 'lost_response' };
    }
    const receipt: Receipt = {
      attemptKey, channel, at: scheduler.now, messageId: answer.take ? messageId : null,
      contentHash: createHash('sha256').update(JSON.stringify(message)).digest('hex'), fate: answer.take ? fateOf(channel, name) : [],
    };
    receipts.push(receipt);
    around.trace(`provider ${answer.take ? 'takes' : 'refuses'} ${name}: ${answer.result.kind}`);
    settings.onReceipt(receipt, writtenAt);
    if (answer.result.kind === 'deferred') settings.onDeferred(attemptKey, scheduler.now, answer.result.retryAfterMs ?? 0);
    return answer;
  };

  const submit = (process: Process, channel: Channel): Transport['submit'] => (request) => new Promise<SubmitResult>((resolve) => {
    const connected = (): void => {
      if (strike(around, process, { boundary: 'connect', side: 'before' }) === 'dead') return;
      goOn(around, process, () => {
        if (faults.next('connection-refused')) return resolve({ kind: 'deferred', reason: 'connection_refused', retryAfterMs: null });
        if (strike(around, process, { boundary: 'connect', side: 'after' }) === 'dead') return;
        goOn(around, process, write);
      });
    };
    const write = (): void => {
      if (!request.mayStart()) return resolve({ kind: 'abandoned', reason: 'start_too_late' });
      if (strike(around, process, { boundary: 'bytes', side: 'before' }) === 'dead') return;
      const writtenAt = scheduler.now;
      let over = false;
      const end = (result: SubmitResult): void => goOn(around, process, () => {
        if (over) return;
        over = true;
        resolve(result);
      });
      scheduler.after(settings.timeoutMs, () => end({ kind: 'unknown', reason: 'request_timeout' }));
      scheduler.after(latency.between(1, 40), () => {
        const { result, slowMs = 0 } = receive(request.attemptKey, channel, request.message, writtenAt);
        if (strike(around, process, { boundary: 'bytes', side: 'after' }) === 'dead') return;
        const slow = faults.next('slow-answer')?.byMs ?? slowMs;
        scheduler.after(latency.between(1, 60) + slow, () => {
          if (strike(around, process, { boundary: 'answer', side: 'before' }) === 'dead') return;
          end(result);
          strike(around, process, { boundary: 'answer', side: 'after' });
        });
      });
    };
    scheduler.after(latency.between(1, 20), () => goOn(around, process, connected));
  });

  const outcomeNow = (receipt: Receipt): Outcome => {
    const past = receipt.fate.filter((one) => one.at <= scheduler.now);
    if (past.length > 1 && faults.next('status-regression')) return past[0]?.outcome ?? 'pending';
    return past.at(-1)?.outcome ?? 'pending';
  };

  const ask = <Reading>(process: Process, read: () => Reading): Promise<Reading> => new Promise((resolve) => {
    scheduler.after(latency.between(1, 40) + (faults.next('slow-read')?.byMs ?? 0), () => {
      if (!process.alive || strike(around, process, { boundary: 'status', side: 'before' }) === 'dead') return;
      const reading = read();
      if (strike(around, process, { boundary: 'status', side: 'after' }) === 'dead') return;
      scheduler.after(latency.between(1, 40) + slowness, () => goOn(around, process, () => resolve(reading)));
    });
  });

  const failedRead = () => {
    const failed = faults.next('read-failed');
    return failed && { kind: 'read_failed' as const, reason: 'read_failed' as const, retryAfterMs: failed.retryAfterMs, raw };
  };
  const readStatus = (messageId: string): StatusReading => {
    const failed = failedRead();
    if (failed) return failed;
    const first = faults.next('not-found-first');
    if (first) notFound.set(messageId, first.times);
    const left = notFound.get(messageId) ?? 0;
    const receipt = receipts.find((one) => one.messageId === messageId);
    if (left > 0 || !receipt) {
      notFound.set(messageId, left - 1);
      return { kind: 'not_found' };
    }
    if (faults.next('status-malformed')) return { kind: 'observed', outcome: 'unknown', reason: 'status_not_recognised', raw };
    const outcome = outcomeNow(receipt);
    const laterBounce = outcome === 'undelivered' && receipt.fate.some((one) => one.outcome === 'delivered');
    // Words of its own, which are sealed beside the entry, come with some answers only: sealing them all would cost more than all else here.
    return { kind: 'observed', outcome, reason: null, ...(outcome === 'pending' || outcome === 'accepted' ? {} : { raw }), ...(laterBounce ? { laterBounce } : {}) };
  };
  const lookUp = (reference: string): LookUpResult => {
    const failed = failedRead();
    if (failed) return failed;
    const found = receipts.filter((one) => one.messageId !== null && referenceOf(one.attemptKey) === reference);
    const [only] = found;
    if (!only) return { kind: 'none' };
    if (found.length > 1 || faults.next('look-up-ambiguous')) return { kind: 'several', matches: 2 };
    return { kind: 'found', providerMessageId: only.messageId as string, outcome: outcomeNow(only), reason: null, raw };
  };

  return {
    receipts,
    transport: (process, channel) => {
      const carrier = settings.carriers[channel];
      return {
        ...carrier, channel, submit: submit(process, channel),
        ...(carrier.capabilities.statusByPoll ? { readStatus: ({ providerMessageId }) => ask(process, () => readStatus(providerMessageId)) } : {}),
        ...(carrier.capabilities.reconcile !== 'reference' && carrier.capabilities.reconcile !== 'heuristic' ? {} : { lookUp: ({ reference }) => ask(process, () => lookUp(reference)) }),
        close: () => Promise.resolve(),
      };
    },
  };
};
