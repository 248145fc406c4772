import type { Channel } from '../../shared/domain/words.ts';
import type { ReceiptLog } from './receipt-log.ts';
import type { Fate } from './script.ts';

/** A file that came with a message, by its checksum; its bytes are not kept. */
export interface ReceivedAttachment { name: string | null; type: string; bytes: number; sha256: string }

/** One submission as it was received, accepted or refused. `receivedAt` in ms since the epoch. */
export interface Receipt {
  kind: 'accepted' | 'refused';
  id: string;
  channel: Channel;
  to: string;
  from: string | null;
  messagingServiceSid: string | null;
  body: string | null;
  subject: string | null;
  text: string | null;
  html: string | null;
  headers: Record<string, string>;
  attemptKey: string | null;
  receivedAt: number;
  /** The submit step that was applied, or `invalid`, `unauthorized`, `outage`. */
  behaviour: string;
  /** The error code given to the client, where one was. */
  code: number | null;
  segments: number | null;
  /** Over what arrived, byte for byte: two submissions of one attempt must agree in it. */
  contentSha256: string;
  /** What was attached, decoded; absent where nothing was. */
  attachments?: ReceivedAttachment[];
  fate: Fate | null;
}

export interface Inbox {
  /** Flushes the receipt to the log, then shows it. The answer to the client comes after this. */
  record(receipt: Receipt): Promise<void>;
  clear(): Promise<void>;
  byId(id: string): Receipt | undefined;
  /** In order of arrival. */
  accepted(): readonly Receipt[];
  refused(): readonly Receipt[];
  /** Accepted messages to one number or address, in order of arrival. */
  acceptedTo(to: string): readonly Receipt[];
  acceptedCount(attemptKey: string): number;
  submissionCount(attemptKey: string): number;
  /** Accepted messages of one event on one channel, whatever the sequence: more than one is a double contact. */
  eventCount(attemptKey: string): number;
  duplicates(): { attempt_key: string; count: number }[];
  duplicateEvents(): { event_id: string; channel: string; count: number }[];
  attemptKeys(): number;
  onReceipt(listener: (receipt: Receipt) => void): () => void;
}

interface LogLine { cleared?: true; receipt?: Receipt }

const eventPart = (attemptKey: string): string => attemptKey.replace(/\.\d+$/, '');
const more = (counts: Map<string, number>, key: string): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};
const repeated = (counts: Map<string, number>): [string, number][] => [...counts].filter(([, count]) => count > 1);

/** The stand-in's memory of what it was given, filled from the lines of an earlier run. Throws where a line is not one of its own. */
export const createInbox = (log: ReceiptLog, earlier: unknown[]): Inbox => {
  let accepted: Receipt[] = [];
  let refused: Receipt[] = [];
  const ids = new Map<string, Receipt>();
  const recipients = new Map<string, Receipt[]>();
  const acceptedByKey = new Map<string, number>();
  const submissionsByKey = new Map<string, number>();
  const acceptedByEvent = new Map<string, number>();
  const listeners = new Set<(receipt: Receipt) => void>();

  const show = (receipt: Receipt): void => {
    const { attemptKey } = receipt;
    if (attemptKey) more(submissionsByKey, attemptKey);
    if (receipt.kind === 'refused') {
      refused.push(receipt);
      return;
    }
    accepted.push(receipt);
    ids.set(receipt.id, receipt);
    const to = receipt.to.toLowerCase();
    const earlierTo = recipients.get(to);
    if (earlierTo) earlierTo.push(receipt);
    else recipients.set(to, [receipt]);
    if (attemptKey) {
      more(acceptedByKey, attemptKey);
      more(acceptedByEvent, eventPart(attemptKey));
    }
  };
  const forget = (): void => {
    accepted = [];
    refused = [];
    for (const index of [ids, recipients, acceptedByKey, submissionsByKey, acceptedByEvent]) index.clear();
  };

  for (const line of earlier as LogLine[]) {
    if (line.cleared) forget();
    else if (line.receipt) show(line.receipt);
    else throw new Error('receipt log: a line is neither a receipt nor a clearing');
  }

  return {
    async record(receipt) {
      await log.append({ receipt });
      show(receipt);
      for (const listener of listeners) listener(receipt);
    },
    async clear() {
      await log.append({ cleared: true });
      forget();
    },
    byId: (id) => ids.get(id),
    accepted: () => accepted,
    refused: () => refused,
    acceptedTo: (to) => recipients.get(to.toLowerCase()) ?? [],
    acceptedCount: (attemptKey) => acceptedByKey.get(attemptKey) ?? 0,
    submissionCount: (attemptKey) => submissionsByKey.get(attemptKey) ?? 0,
    eventCount: (attemptKey) => acceptedByEvent.get(eventPart(attemptKey)) ?? 0,
    duplicates: () => repeated(acceptedByKey).map(([key, count]) => ({ attempt_key: key, count })),
    duplicateEvents: () => repeated(acceptedByEvent).map(([key, count]) => {
      const dot = key.lastIndexOf('.');
      return { event_id: key.slice(0, dot), channel: key.slice(dot + 1), count };
    }),
    attemptKeys: () => acceptedByKey.size,
    onReceipt(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};
