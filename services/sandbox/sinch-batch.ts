import { readFate } from './fate.ts';
import type { Receipt } from './inbox.ts';
import type { StatusEvent } from './script.ts';

/** The words of scripts that the API has another word for; any other goes out with a capital. */
const STATUSES: Record<string, string> = {
  accepted: 'Queued', scheduled: 'Queued', queued: 'Queued', sending: 'Queued', sent: 'Dispatched', read: 'Delivered', undelivered: 'Failed',
  failed: 'Rejected', canceled: 'Cancelled', partially_delivered: 'Unknown',
};
/** Status codes of reports; those of the carrier's own stand for themselves. */
const CODES: Record<string, number> = { Delivered: 0, Queued: 400, Dispatched: 401, Aborted: 402, Expired: 406, Cancelled: 407 };
const OPTED_OUT = 21610;
/** Until then only a report of one recipient shows the status. */
const INTERMEDIATE = new Set(['Queued', 'Dispatched']);

const digits = (number: string): string => number.replace(/^\+/, '');

/** A script's status in the words of the API: a carrier deletes what goes to someone who has opted out. */
export const sinchStatus = ({ status, errorCode }: StatusEvent): string =>
  (errorCode === OPTED_OUT ? 'Deleted' : STATUSES[status] ?? status.charAt(0).toUpperCase() + status.slice(1));

const codeOf = ({ errorCode }: StatusEvent, status: string): number => CODES[status] ?? (errorCode === null ? 1 : errorCode % 1_000);

/** The batch as the API shows it. Numbers come back without their plus. */
export const sinchBatch = (receipt: Receipt): Record<string, unknown> => ({
  id: receipt.id, to: [digits(receipt.to)], from: digits(receipt.from ?? ''), canceled: false, body: receipt.body, type: 'mt_text',
  created_at: new Date(receipt.receivedAt).toISOString(), modified_at: new Date(receipt.receivedAt).toISOString(), delivery_report: 'full',
  expire_at: new Date(receipt.receivedAt + 3 * 86_400_000).toISOString(), flash_message: false,
  ...(receipt.attemptKey === null ? {} : { client_reference: receipt.attemptKey }),
});

/** The report of the recipient as it stands at `now`. */
export const recipientReport = (receipt: Receipt, now: number): Record<string, unknown> => {
  const { event, updatedAt } = readFate(receipt, now);
  const status = sinchStatus(event);
  return {
    type: 'recipient_delivery_report_sms', batch_id: receipt.id, recipient: digits(receipt.to), code: codeOf(event, status), status,
    at: new Date(updatedAt).toISOString(), ...(receipt.attemptKey === null ? {} : { client_reference: receipt.attemptKey }),
  };
};

/** The report of the batch: final statuses only, with the numbers where a full one is asked for. */
export const batchReport = (receipt: Receipt, now: number, isFull: boolean): Record<string, unknown> => {
  const { event } = readFate(receipt, now);
  const status = sinchStatus(event);
  const row = { code: codeOf(event, status), status, count: 1, ...(isFull ? { recipients: [digits(receipt.to)] } : {}) };
  return {
    type: 'delivery_report_sms', batch_id: receipt.id, total_message_count: 1, statuses: INTERMEDIATE.has(status) ? [] : [row],
    ...(receipt.attemptKey === null ? {} : { client_reference: receipt.attemptKey }),
  };
};

const DAY_MS = 86_400_000;

/** One page of the listing, newest first: the last 24 hours unless a start is given. `accepted` is in order of arrival. */
export const sinchListing = (accepted: readonly Receipt[], query: Record<string, string>, now: number): Record<string, unknown> => {
  const pageSize = Math.min(Math.max(Math.trunc(Number(query.page_size)) || 30, 1), 100);
  const page = Math.max(Math.trunc(Number(query.page)) || 0, 0);
  const since = query.start_date === undefined ? now - DAY_MS : Date.parse(query.start_date);
  const matches = accepted.filter((receipt) => isBatchId(receipt.id) && receipt.receivedAt >= since && isListed(receipt, now)
    && (query.client_reference === undefined || receipt.attemptKey === query.client_reference)
    && (query.to === undefined || digits(receipt.to) === digits(query.to))).reverse();
  const batches = matches.slice(page * pageSize, (page + 1) * pageSize).map(sinchBatch);
  return { count: matches.length, page, page_size: batches.length, batches };
};

/** Whether an id is one of this stand-in's. */
export const isBatchId = (id: string): boolean => /^01[0-9A-F]{24}$/.test(id);
const isListed = ({ fate, receivedAt }: Receipt, now: number): boolean => fate !== null && fate.listed && now - receivedAt >= fate.listedAfterMs;
