import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createGate } from '../../shared/delivery/gate.ts';
import type { ReceiptLine } from '../audit/ticket-client.ts';
import type { ClientAct, PlannedNotice } from './chaos-plan.ts';

/** The client's own record: what the other audits note, and what it held and let go. Instants in ms since the epoch. */
export type NoticeLine = ReceiptLine
  | { kind: 'paused'; eventId: string; inFlight: boolean; at: number }
  /** Written before it asks, so that whatever arrives later may be due to it. */
  | { kind: 'resuming'; eventId: string; at: number }
  /** Something that no client should ever be told. */
  | { kind: 'wronged'; path: string; httpStatus: number; code: string; at: number };

export interface NoticeClient {
  /** Sends it, again and again until there is a receipt, and then does what is planned. Never rejects. */
  send: (notice: PlannedNotice, index: number) => void;
  /** Resolves once everything that was begun is answered and done. */
  allDone: () => Promise<void>;
  /** Nothing is asked or noted any more: the run was given up. */
  abandon: () => void;
  counts: () => { begun: number; answered: number; closed: number; paused: number; resumed: number; repeats: number };
}

export interface NoticeClientSettings { receiptsPath: string; apiKey: string; seed: number; urls: () => string[] }

const ANSWER_WITHIN_MS = 12_000;
const LONGEST_RETRY_MS = 4_000;
/** More at once would be a flood that a busy machine answers to nobody in time. */
const MOST_AT_ONCE = 64;
const PHASE = 'chaos';

interface Answer { json: Record<string, unknown>; httpStatus: number; by: string; tries: number }

class AbandonedError extends Error {
  override readonly name = 'AbandonedError';
}

const bodyOf = ({ sms, email }: PlannedNotice, index: number): object => ({
  purpose: 'game-support-urgent',
  recipient: { ref: `chaos-${index}`, sms: sms.to, email: email.to, region: 'US', locale: 'en', consent: ['sms:on_call_duty', 'email:on_call_duty'] },
  variables: {
    category: 'payment_lockout', queue: 'payments-urgent', region: 'US', locale: 'en-US', player_ref: `p-${index}`, message: `Locked out (${index}).`,
    received_at: '2026-01-01T00:00:00Z', ticket_url: 'http://127.0.0.1:3001/',
  },
});

/**
 * A client that must not lose a notification and does not trust its answers to come: it repeats under the same key until it has a
 * receipt, sometimes sends or closes twice at once to two intakes, pauses and resumes, and writes down what it was told.
 */
export const openNoticeClient = ({ receiptsPath, apiKey, seed, urls }: NoticeClientSettings): NoticeClient => {
  const tally = { begun: 0, answered: 0, closed: 0, paused: 0, resumed: 0, repeats: 0 };
  const open = new Set<Promise<void>>();
  let turn = 0;
  let over = false;
  const gate = createGate(MOST_AT_ONCE);
  // What is noted while the file is written to goes out in one piece after that.
  let pending = '';
  let writing: Promise<void> | null = null;
  const flush = async (): Promise<void> => {
    while (pending !== '') {
      const text = pending;
      pending = '';
      await appendFile(receiptsPath, text);
    }
    writing = null;
  };
  const note = (line: NoticeLine): Promise<void> => {
    if (over) return Promise.resolve();
    pending += `${JSON.stringify(line)}\n`;
    return (writing ??= flush());
  };
  const nextUrl = (): string | undefined => {
    const all = urls();
    turn += 1;
    return all[turn % Math.max(1, all.length)];
  };
  const attempt = async (path: string, headers: Record<string, string>, body: object): Promise<Omit<Answer, 'tries'> | null> => {
    const by = nextUrl();
    if (by === undefined) return null;
    try {
      const answer = await fetch(`${by}${path}`, {
        method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}`, ...headers }, body: JSON.stringify(body), signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const json = await answer.json() as Record<string, unknown>;
      const { status } = answer;
      // There may be nothing left to close or to hold; a key of ours is never another's.
      const over = status === 409 && path !== '/notifications';
      // Away or too busy is an answer; a failure of its own, or a refusal of what was in order, is none.
      if (!answer.ok && status !== 503 && status !== 429 && !over) await note({ kind: 'wronged', path: path.replace(/evt_\w+/, '…'), httpStatus: status, code: String(json['code']), at: Date.now() });
      return answer.ok || over ? { json, httpStatus: status, by } : null;
    } catch {
      return null;
    }
  };
  const untilAnswered = async (path: string, headers: Record<string, string>, body: object): Promise<Answer> => {
    for (let tries = 1; ; tries += 1) {
      if (over) throw new AbandonedError('the run was given up');
      const answer = await gate(() => attempt(path, headers, body));
      if (answer) return { ...answer, tries };
      tally.repeats += 1;
      await pause(Math.min(LONGEST_RETRY_MS, 50 * 2 ** Math.min(tries, 6)));
    }
  };
  const act = (eventId: string, what: 'close' | 'pause' | 'resume'): Promise<Answer> =>
    untilAnswered(`/notifications/${eventId}/${what}`, {}, { reason: what === 'close' ? 'taken' : 'maintenance' });

  const close = async (eventId: string): Promise<void> => {
    const { json, httpStatus } = await act(eventId, 'close');
    if (httpStatus === 409) return;
    tally.closed += 1;
    await note({ kind: 'closed', eventId, inFlight: json['in_flight'] === true, at: Date.now() });
  };
  const holdFor = async (eventId: string, { forMs, resumes }: Extract<ClientAct, { kind: 'pause' }>): Promise<void> => {
    const { json, httpStatus } = await act(eventId, 'pause');
    if (httpStatus === 409) return;
    tally.paused += 1;
    await note({ kind: 'paused', eventId, inFlight: json['in_flight'] === true, at: Date.now() });
    if (!resumes) return;
    await pause(forMs);
    await note({ kind: 'resuming', eventId, at: Date.now() });
    tally.resumed += (await act(eventId, 'resume')).httpStatus === 409 ? 0 : 1;
  };
  const post = async (key: string, body: object): Promise<string> => {
    const { json, httpStatus, by, tries } = await untilAnswered('/notifications', { 'idempotency-key': key }, body);
    const eventId = String(json['event_id']);
    await note({ kind: 'receipt', key, eventId, httpStatus, tries, by, at: Date.now() });
    return eventId;
  };
  const sendOne = async (notice: PlannedNotice, index: number): Promise<void> => {
    const key = createHash('sha256').update(`${seed} ${index}`).digest('hex').slice(0, 32);
    await note({ kind: 'meant', key, phase: PHASE, onCall: notice.sms.to, at: Date.now() });
    const body = bodyOf(notice, index);
    const [eventId] = await Promise.all(notice.postedTwice ? [post(key, body), post(key, body)] : [post(key, body)]);
    tally.answered += 1;
    if (!notice.act || eventId === undefined) return;
    await pause(notice.act.afterMs);
    if (notice.act.kind === 'pause') return holdFor(eventId, notice.act);
    await Promise.all(notice.act.twice ? [close(eventId), close(eventId)] : [close(eventId)]);
  };
  return {
    send: (notice, index) => {
      tally.begun += 1;
      const work = sendOne(notice, index).catch((error: unknown) => {
        if (!(error instanceof AbandonedError)) throw error;
      }).finally(() => open.delete(work));
      open.add(work);
    },
    allDone: async () => {
      while (open.size > 0) await Promise.all([...open]);
      await gate.idle();
    },
    abandon: () => { over = true; },
    counts: () => ({ ...tally }),
  };
};
