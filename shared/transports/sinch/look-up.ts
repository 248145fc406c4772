import { performance } from 'node:perf_hooks';
import type { LookUpResult } from '../../domain/provider-answers.ts';
import type { Json } from '../http/answer.ts';
import { idOf, objectOf } from '../http/answer.ts';
import type { ReadFailed } from '../http/read.ts';
import { notUnderstood, readAnswer } from '../http/read.ts';
import type { LookUpRequest } from '../transport.ts';
import type { SinchApi } from './api.ts';
import { SINCH_ERROR_READER } from './error-table.ts';

/**
 * The listing starts this long before the newest submission, so that an earlier one of the same attempt is found too. The
 * provider's own default is the last 24 hours.
 */
const LOOK_BACK_MS = 24 * 3_600_000;
const PAGE_SIZE = 30;
const MAX_PAGES = 10;
/** A page of thirty batches of 1600 characters, each escaped, stays below this. */
const MAX_PAGE_BYTES = 512 * 1024;

interface Match { id: string; httpStatus: number }
type Listing = { kind: 'listed'; matches: Match[] } | ReadFailed;

/** Of a batch under our reference; `unreadable` where it has no id that can be kept, or is no batch at all: it may be ours, and must not count as absent. */
const matchOf = (batch: Json | null, reference: string, httpStatus: number): Match | 'unreadable' | null => {
  if (batch !== null && batch.client_reference !== reference) return null;
  const id = idOf(batch?.id);
  return batch && id ? { id, httpStatus } : 'unreadable';
};

const listMatches = async (api: SinchApi, { attemptKey, submissionStartedAt }: LookUpRequest): Promise<Listing> => {
  const endsAt = performance.now() + api.timeoutMs;
  const since = new Date(submissionStartedAt - LOOK_BACK_MS).toISOString();
  const matches = new Map<string, Match>();
  let seen = 0;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const url = api.listUrl({ reference: attemptKey, since, page, pageSize: PAGE_SIZE });
    const limits = { limitMs: Math.max(endsAt - performance.now(), 0), maxBodyBytes: MAX_PAGE_BYTES };
    const outcome = readAnswer(await api.get(url, limits), SINCH_ERROR_READER, api.now());
    // a listing that does not exist is a wrong plan or address, not an absent message
    if (outcome.kind === 'not_found') return { kind: 'read_failed', reason: 'not_found', retryAfterMs: null, raw: outcome.raw };
    if (outcome.kind !== 'read') return outcome;
    const { batches, count } = outcome.json;
    if (!Array.isArray(batches) || typeof count !== 'number') return notUnderstood(outcome.answer);
    for (const batch of batches) {
      const match = matchOf(objectOf(batch), attemptKey, outcome.answer.httpStatus);
      if (match === 'unreadable') return notUnderstood(outcome.answer);
      if (match) matches.set(match.id, match);
    }
    seen += batches.length;
    if (seen >= count) return { kind: 'listed', matches: [...matches.values()] };
    // fewer than announced, and no more to come: what is missing is not known
    if (batches.length === 0) return notUnderstood(outcome.answer);
  }
  // what stands on the pages beyond the bound is not known, so neither "none" nor "one" would be true
  return { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null };
};

/**
 * Looks for the one batch whose `client_reference` is exactly the attempt key. Its status is left to the next poll, also where it was cancelled: what was under way
 * then may still arrive, and only the recipient's report tells.
 */
export const lookUp = async (api: SinchApi, request: LookUpRequest): Promise<LookUpResult> => {
  const listing = await listMatches(api, request);
  if (listing.kind === 'read_failed') return listing;
  const [match, ...others] = listing.matches;
  if (!match) return { kind: 'none' };
  if (others.length > 0) return { kind: 'several', matches: listing.matches.length };
  return { kind: 'found', providerMessageId: match.id, outcome: 'pending', reason: null, raw: { httpStatus: match.httpStatus } };
};
