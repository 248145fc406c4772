import type { Channel } from '../../shared/domain/words.ts';
import type { StatusEvent, SubmitStep } from './script.ts';

/** When the statuses of the defaults come, counted from acceptance. */
export interface Schedule { sentMs: number; deliveredMs: number; undeliveredMs: number; lateMs: number }

/** `lateMs` lies after the demo's decision deadline of 30 s, so that the email is already claimed when the SMS arrives. */
export const DEFAULT_SCHEDULE: Schedule = { sentMs: 700, deliveredMs: 2_000, undeliveredMs: 3_000, lateMs: 40_000 };

export type MemorableDigits = '01' | '02' | '03' | '04' | '05' | '06' | '07';

/** What the inbox page says about each. For mail over SMTP, 01 to 04 are all *accepted*: SMTP tells no more. */
export const MEMORABLE: Record<MemorableDigits, string> = {
  '01': 'delivered', '02': 'undelivered', '03': 'never confirmed', '04': 'confirmed late', '05': 'rejected', '06': 'throttled first',
  '07': 'accepted, the answer is lost',
};

/** The two digits of +1202555010N or of a plus tag; null for everyone else. */
export const memorableDigits = (to: string): MemorableDigits | null => {
  const match = /^\+12025550(10[1-7])$/.exec(to) ?? /\+(0[1-7])@/.exec(to);
  return match ? match[1]?.slice(-2) as MemorableDigits : null;
};

/** How a submission to this number or address is answered while no scenario says otherwise. */
export const defaultSubmit = (to: string, channel: Channel): SubmitStep => {
  switch (memorableDigits(to)) {
    case '05': return channel === 'sms' ? { submit: 'reject', code: 21211 } : { submit: 'reject', code: 550, enhanced: '5.1.1', at: 'rcpt' };
    // per attempt, so that the number shows the same thing each time the demo is run; after the dot, where the key is known
    case '06': return { submit: 'throttle', retryAfter: 1, oncePerAttempt: true, at: 'data' };
    case '07': return { submit: 'lose_response' };
    default: return { submit: 'accept' };
  }
};

const event = (status: string, afterMs: number, errorCode: number | null = null): StatusEvent => ({ status, afterMs, errorCode });

/** The statuses that follow an acceptance while no scenario says otherwise; only that where the provider tells no more. */
export const defaultEvents = (to: string, told: boolean, schedule: Schedule): StatusEvent[] => {
  if (!told) return [event('accepted', 0)];
  const sent = [event('queued', 0), event('sent', schedule.sentMs)];
  switch (memorableDigits(to)) {
    case '02': return [...sent, event('undelivered', schedule.undeliveredMs, 30005)];
    case '03':
    case '07': return sent;
    case '04': return [...sent, event('delivered', schedule.lateMs)];
    default: return [...sent, event('delivered', schedule.deliveredMs)];
  }
};
