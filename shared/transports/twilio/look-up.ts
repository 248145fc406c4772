import { performance } from 'node:perf_hooks';
import type { LookUpResult } from '../../domain/provider-answers.ts';
import type { Answered } from '../http/answer.ts';
import { rawOf } from '../http/answer.ts';
import type { ReadFailed } from '../http/read.ts';
import { notUnderstood } from '../http/read.ts';
import type { LookUpRequest } from '../transport.ts';
import type { TwilioApi } from './api.ts';
import type { MessageResource } from './message-resource.ts';
import { messageOf } from './message-resource.ts';
import { read } from './read.ts';
import { meaningOfMessage } from './status-table.ts';

/** By how much the provider's clock, which counts whole seconds, may be behind ours. */
const CLOCK_SKEW_MS = 30_000;
const PAGE_SIZE = 20;
const MAX_PAGES = 10;
/** A page of twenty messages of ten segments with every character escaped stays below this. */
const MAX_PAGE_BYTES = 512 * 1024;

interface Match { message: MessageResource; answer: Answered }
type Listing = { kind: 'listed'; matches: Match[] } | ReadFailed;

/** Whether the text carries the reference as a token of its own, not as a part of a longer one. */
export const carriesReference = (text: string, reference: string): boolean => {
  const literal = reference.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'u').test(text);
};

const isOurs = (message: MessageResource, request: LookUpRequest): boolean => {
  const at = message.createdAt ?? message.sentAt;
  return message.to === request.to
    && (message.from === request.from || message.messagingServiceSid === request.from)
    && at !== null && at >= request.submissionStartedAt - CLOCK_SKEW_MS
    && message.body !== null && carriesReference(message.body, request.reference);
};

const listMatches = async (api: TwilioApi, request: LookUpRequest): Promise<Listing> => {
  const endsAt = performance.now() + api.timeoutMs;
  const since = new Date(request.submissionStartedAt - CLOCK_SKEW_MS).toISOString().slice(0, 10);
  const matches = new Map<string, Match>();
  let url: URL | null = api.listUrl({ to: request.to, from: request.from, sentSince: since, pageSize: PAGE_SIZE });
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const outcome = await read(api, url, { limitMs: Math.max(endsAt - performance.now(), 0), maxBodyBytes: MAX_PAGE_BYTES });
    // a listing that does not exist is a wrong account or address, not an absent message
    if (outcome.kind === 'not_found') return { kind: 'read_failed', reason: 'not_found', retryAfterMs: null, raw: outcome.raw };
    if (outcome.kind !== 'read') return outcome;
    if (!Array.isArray(outcome.json.messages)) return notUnderstood(outcome.answer);
    for (const message of outcome.json.messages.map(messageOf)) {
      if (!message || !isOurs(message, request)) continue;
      // it is ours, and what cannot be named must not count as absent
      if (message.sid === null) return notUnderstood(outcome.answer);
      matches.set(message.sid, { message, answer: outcome.answer });
    }
    const next = outcome.json.next_page_uri;
    if (typeof next !== 'string' || next === '') return { kind: 'listed', matches: [...matches.values()] };
    url = api.nextPageUrl(next);
    if (!url) return notUnderstood(outcome.answer);
  }
  // what stands on the pages beyond the bound is not known, so neither "none" nor "one" would be true
  return { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null };
};

/**
 * Looks for the one message of an attempt in the account's listing: same recipient, same sender, not older than the submission,
 * and our reference in its text. A heuristic: "none" is no proof that the message was never created, for a message without a
 * sent date may be missing from the listing.
 */
export const lookUp = async (api: TwilioApi, request: LookUpRequest): Promise<LookUpResult> => {
  // an empty reference would match every message
  if (request.reference.trim() === '') return { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null };
  const listing = await listMatches(api, request);
  if (listing.kind === 'read_failed') return listing;
  const [match, ...others] = listing.matches;
  if (!match) return { kind: 'none' };
  if (others.length > 0) return { kind: 'several', matches: listing.matches.length };
  const { message, answer } = match;
  const meaning = meaningOfMessage(message, api.now()) ?? { outcome: 'unknown', reason: 'status_not_recognised' };
  // the page holds other people's messages: only the status is kept as evidence
  const { httpStatus, code } = rawOf(answer, message.errorCode ?? message.status);
  return { kind: 'found', providerMessageId: message.sid as string, ...meaning, raw: { httpStatus, code } };
};
