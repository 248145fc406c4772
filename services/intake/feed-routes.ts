import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { apiKeyOf } from './api-key-auth.ts';
import { readAs, readFields } from './faults.ts';
import { Problem, faultyFields } from './problem.ts';

const MOST_ITEMS = 200;
const DEFAULT_ITEMS = 50;

const readLimit = (text: string): number | null => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= MOST_ITEMS ? Number(text) : null);
/** The query of the feed. */
export const feedSchema = z.strictObject({ after: z.string().optional(), limit: readAs(readLimit, `is not a number from 1 to ${MOST_ITEMS}`).optional() });

export const FEED_CURES = {
  after: 'send one next_cursor, exactly as it came',
  limit: `give a whole number from 1 to ${MOST_ITEMS}, or leave it out for ${DEFAULT_ITEMS}`,
};

const cursorInvalid = (): Problem => faultyFields([{
  field: 'after', problem: 'is not a cursor of this feed', cure: 'send next_cursor exactly as it came, or leave it out to read from the beginning',
}], 'cursor_invalid');

const cursorDiverged = (): Problem => new Problem({
  status: 409, code: 'cursor_diverged',
  detail: 'This cursor is past the backup from which this ledger was restored, so what follows it cannot be told. Read from the beginning, without a cursor; what you have already is known by event_id, version and updated_at.',
});

/** `GET /notifications?after={cursor}&limit=`: the change feed of the key's tenant. */
export const getFeed = (engine: Engine): RequestHandler => async (request, response) => {
  const { after, limit } = readFields(feedSchema, request.query, FEED_CURES);
  const outcome = await readFeed(engine, { tenant: apiKeyOf(response).tenant, after: after ?? null, limit: limit ?? DEFAULT_ITEMS });
  switch (outcome.kind) {
    case 'cursor_invalid': throw cursorInvalid();
    case 'cursor_diverged': throw cursorDiverged();
    case 'page':
      response.json({ items: outcome.items, next_cursor: outcome.nextCursor, has_more: outcome.hasMore });
  }
};
