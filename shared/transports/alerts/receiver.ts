import type { EndedAs } from '../../domain/at-risk.ts';
import type { NextAction } from '../../domain/next-action.ts';

/** What a receiver is told: codes, ids and instants, never an address or a text. */
export interface AlertNotice {
  /** The same for as long as the incident lasts. */
  dedupKey: string;
  kind: 'at_risk' | 'reserve_used' | 'stalled';
  severity: 'page' | 'warning';
  eventId: string; purpose: string; policyVersion: number; region: string; urgency: string;
  channels: string[];
  lastReadAt: number | null; deadlineAt: number; raisedAt: number;
  /** Null while it lasts. */
  endedAt: number | null;
  action: NextAction;
  /** How a page ended; null while it lasts, and for a warning. */
  endedAs: EndedAs | null;
  /** How many notifications of its purpose are found so. */
  count: number;
  runbook: string; runbookUrl: string | null; pageUrl: string;
}

/** A place where people are told. Telling one thing twice must be harmless there. */
export interface AlertReceiver {
  readonly name: 'alertmanager' | 'webhook';
  /** Says of each whether it was taken, in order; never rejects. `now` is the engine's clock. */
  send: (notices: readonly AlertNotice[], now: number) => Promise<boolean[]>;
}

/** How long a receiver may take to answer. */
export const ANSWER_WITHIN_MS = 5_000;

/** The status of one POST of JSON; null where no answer came. No redirect is followed. */
export const postJson = async (url: string, body: string, headers: Record<string, string> = {}): Promise<number | null> => {
  try {
    const response = await fetch(url, { method: 'POST', redirect: 'manual', signal: AbortSignal.timeout(ANSWER_WITHIN_MS), headers: { 'Content-Type': 'application/json', 'User-Agent': 'Tocsin', ...headers }, body });
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  }
};

/** A stretch of time as people read it; `over` where it is past. */
export const spanOf = (ms: number): string => {
  if (ms <= 0) return 'over';
  const seconds = Math.floor(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
};

const SAID: Record<AlertNotice['kind'], string> = {
  at_risk: 'Nothing under way can reach the recipient before the deadline',
  reserve_used: 'Nothing under way can reach the recipient, and the time kept for it runs',
  stalled: 'What was due did not come to pass',
};

const ENDED: Record<EndedAs, string> = {
  reached: 'The recipient was reached', closed: 'It was closed', expired: 'It expired, and nobody is known to be reached', under_way: 'Something under way can reach the recipient again',
};

/** One sentence of an alert, without its time: it stays the same while the incident lasts, and says how a page ended. */
export const summaryOf = ({ kind, eventId, purpose, count, endedAs }: AlertNotice): string => `${endedAs === null ? SAID[kind] : ENDED[endedAs]}: ${eventId} (${purpose})${count > 1 ? `, and ${count - 1} more` : ''}`;
