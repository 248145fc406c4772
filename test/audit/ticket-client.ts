import { randomUUID } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { within } from './waiting.ts';

/** One line of the client's own record: what it meant to send, what it was told, and what it closed. Instants in ms since the epoch. */
export type ReceiptLine =
  | { kind: 'meant'; key: string; phase: string; onCall: string; at: number }
  | { kind: 'receipt'; key: string; eventId: string; httpStatus: number; tries: number; by: string; at: number }
  | { kind: 'closed'; eventId: string; inFlight: boolean; at: number };

export interface TicketClient {
  /** Sends one ticket and goes on under the same key until it has a receipt. */
  send: (phase: string, onCall: string) => Promise<string>;
  /** Closes a notification, again and again until that is confirmed. */
  close: (eventId: string, apiKey: string) => Promise<void>;
  /** Where intakes listen now; an empty list makes the client wait. */
  reachAt: (urls: readonly string[]) => void;
  /** Resolves once every ticket that was begun has its receipt. */
  allAnswered: () => Promise<void>;
  counts: () => { begun: number; answered: number };
}

const ANSWER_WITHIN_MS = 5_000;
const RETRY_AFTER_MS = 50;

interface Answer { eventId: string; httpStatus: number; by: string }

const post = async (url: string, headers: Record<string, string>, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body), signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });

/**
 * A front end that must not lose a ticket: every receipt goes to its own file, and what was not answered is sent again under
 * the same key. A refusal that no repetition can heal rejects.
 */
export const openTicketClient = (receiptsPath: string): TicketClient => {
  let urls: readonly string[] = [];
  let turn = 0;
  let arrived: () => void = () => undefined;
  let arrival = new Promise<void>((resolve) => { arrived = resolve; });
  let begun = 0;
  let answered = 0;
  const open = new Set<Promise<unknown>>();
  let writing: Promise<void> = Promise.resolve();
  const note = (line: ReceiptLine): Promise<void> => (writing = writing.then(() => appendFile(receiptsPath, `${JSON.stringify(line)}\n`, { flush: true })));

  const nextUrl = async (): Promise<string> => {
    while (urls.length === 0) await arrival;
    turn += 1;
    return urls[turn % urls.length] as string;
  };
  /** Null where the answer did not come, or says that it may come another time. */
  const attempt = async (path: string, headers: Record<string, string>, body: object): Promise<{ json: Record<string, unknown>; httpStatus: number; by: string } | null> => {
    const by = await nextUrl();
    try {
      const answer = await post(`${by}${path}`, headers, body);
      const json = await answer.json() as Record<string, unknown>;
      if (answer.ok) return { json, httpStatus: answer.status, by };
      if (answer.status < 500 && answer.status !== 429) throw new Error(`refused with ${answer.status}: ${JSON.stringify(json)}`);
      return null;
    } catch (error) {
      if ((error as Error).message.startsWith('refused')) throw error;
      return null;
    }
  };
  const untilAnswered = async (path: string, headers: Record<string, string>, body: object) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await attempt(path, headers, body);
      if (answer) return { ...answer, tries };
      await pause(RETRY_AFTER_MS);
    }
  };
  const sendOne = async (phase: string, onCall: string): Promise<string> => {
    const key = randomUUID();
    await note({ kind: 'meant', key, phase, onCall, at: Date.now() });
    const { json, httpStatus, by, tries } = await untilAnswered('/tickets', { 'idempotency-key': key }, {
      category: 'payment_lockout', message: `Locked out of the shop (${key}).`, region: 'US', locale: 'en-US', player_ref: `audit-${key}`, on_call: onCall,
    });
    const receipt: Answer = { eventId: String(json['event_id']), httpStatus, by };
    await note({ kind: 'receipt', key, tries, at: Date.now(), ...receipt });
    answered += 1;
    return receipt.eventId;
  };
  const track = <Value>(work: Promise<Value>): Promise<Value> => {
    open.add(work);
    const settle = (): void => { open.delete(work); };
    work.then(settle, () => undefined);
    return work;
  };
  return {
    send: (phase, onCall) => {
      begun += 1;
      return track(sendOne(phase, onCall));
    },
    close: (eventId, apiKey) => track((async () => {
      const { json } = await untilAnswered(`/notifications/${eventId}/close`, { authorization: `Bearer ${apiKey}` }, { reason: 'taken' });
      await note({ kind: 'closed', eventId, inFlight: json['in_flight'] === true, at: Date.now() });
    })()),
    reachAt: (next) => {
      const waited = urls.length === 0;
      urls = [...next];
      if (urls.length > 0) arrived();
      else if (!waited) arrival = new Promise<void>((resolve) => { arrived = resolve; });
    },
    allAnswered: async () => {
      while (open.size > 0) await within(1_000, Promise.allSettled([...open]).then(() => Promise.all([...open])));
    },
    counts: () => ({ begun, answered }),
  };
};

/** The client's own record, as it stands on disk. */
export const readReceipts = async (path: string): Promise<ReceiptLine[]> =>
  (await readFile(path, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as ReceiptLine);
