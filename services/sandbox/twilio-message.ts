import { readFate } from './fate.ts';
import { INBOUND } from './replies.ts';
import type { Receipt } from './inbox.ts';
import { errorText } from './twilio-errors.ts';

/** RFC 2822, always in UTC, as the API writes it. */
const rfc2822 = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000');

/** The Message resource as the API shows it at `now`. */
export const twilioMessage = (receipt: Receipt, accountSid: string, now: number): Record<string, unknown> => {
  const { event, updatedAt, sentAt } = readFate(receipt, now);
  const uri = `/2010-04-01/Accounts/${accountSid}/Messages/${receipt.id}`;
  return {
    account_sid: accountSid,
    api_version: '2010-04-01',
    body: receipt.body,
    date_created: rfc2822(receipt.receivedAt),
    date_sent: sentAt === null ? null : rfc2822(sentAt),
    date_updated: rfc2822(updatedAt),
    direction: receipt.behaviour === INBOUND ? 'inbound' : 'outbound-api',
    error_code: event.errorCode,
    error_message: event.errorCode === null ? null : errorText(event.errorCode),
    from: receipt.from,
    messaging_service_sid: receipt.messagingServiceSid,
    num_media: '0',
    // with a messaging service the API does not know the segments before it has chosen a sender
    num_segments: receipt.messagingServiceSid && sentAt === null ? '0' : String(receipt.segments),
    price: null,
    price_unit: 'USD',
    sid: receipt.id,
    status: event.status,
    subresource_uris: { media: `${uri}/Media.json` },
    to: receipt.to,
    uri: `${uri}.json`,
  };
};

export interface ListingQuery { query: Record<string, string>; accountSid: string; now: number }

/** Whether a message's day (or second) fits `DateSent`, `DateSent>` and `DateSent<`; the operators include the bound, as in the API. */
const dateFits = (receipt: Receipt, query: Record<string, string>, now: number): boolean => {
  const at = readFate(receipt, now).sentAt ?? receipt.receivedAt;
  // a bare day names the whole day; an instant is exact to the second
  const span = (text: string): [number, number] => {
    const start = Date.parse(text);
    return [start, /^\d{4}-\d\d-\d\d$/.test(text) ? start + 86_399_999 : start + 999];
  };
  const { DateSent: on, 'DateSent>': from, 'DateSent<': until } = query;
  if (on !== undefined && (at < span(on)[0] || at > span(on)[1])) return false;
  if (from !== undefined && at < span(from)[0]) return false;
  return until === undefined || at <= span(until)[1];
};

const isListed = (receipt: Receipt, now: number): boolean =>
  receipt.fate !== null && receipt.fate.listed && now - receipt.receivedAt >= receipt.fate.listedAfterMs;

/** One page of the listing, newest first. `candidates` are in order of arrival. */
export const twilioListing = (candidates: readonly Receipt[], { query, accountSid, now }: ListingQuery): Record<string, unknown> => {
  const pageSize = Math.min(Math.max(Number(query.PageSize) || 50, 1), 1000);
  const page = Math.max(Math.trunc(Number(query.Page)) || 0, 0);
  const start = page * pageSize;
  const matches: Receipt[] = [];
  for (let index = candidates.length - 1; index >= 0 && matches.length <= start + pageSize; index -= 1) {
    const receipt = candidates[index] as Receipt;
    if (receipt.channel !== 'sms' || !isListed(receipt, now) || !dateFits(receipt, query, now)) continue;
    if (query.To !== undefined && receipt.to !== query.To) continue;
    if (query.From !== undefined && receipt.from !== query.From) continue;
    matches.push(receipt);
  }
  const shown = matches.slice(start, start + pageSize);
  const uri = (number: number): string => {
    const parameters = new URLSearchParams({ ...query, PageSize: String(pageSize), Page: String(number) });
    return `/2010-04-01/Accounts/${accountSid}/Messages.json?${parameters.toString()}`;
  };
  return {
    end: start + Math.max(shown.length - 1, 0),
    first_page_uri: uri(0),
    messages: shown.map((receipt) => twilioMessage(receipt, accountSid, now)),
    next_page_uri: matches.length > start + pageSize ? uri(page + 1) : null,
    page,
    page_size: pageSize,
    previous_page_uri: page > 0 ? uri(page - 1) : null,
    start,
    uri: uri(page),
  };
};
