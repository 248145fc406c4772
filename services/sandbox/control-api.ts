import express from 'express';
import type { Router } from 'express';
import { z } from 'zod';
import { OUTAGE_KINDS } from './outage.ts';
import { createInboundApi } from './inbound-api.ts';
import type { Provider } from './provider.ts';
import { problem } from './problem.ts';
import type { ScriptFault } from './script.ts';
import { countsOf, viewsOf } from './views.ts';

const outageBody = z.strictObject({
  channel: z.enum(['sms', 'email']), kind: z.enum(OUTAGE_KINDS), forMs: z.number().int().min(1).max(3_600_000).optional(),
}).refine((body) => body.channel === 'email' || body.kind !== 'closed' || body.forMs !== undefined, {
  path: ['forMs'], message: 'is needed where the port of this very API is closed, or nobody could open it again',
});
const messagesQuery = z.object({
  to: z.string().optional(), attempt_key: z.string().optional(), limit: z.coerce.number().int().min(0).optional(),
});

const faultsOf = (error: z.ZodError): ScriptFault[] => error.issues.map((issue) => ({ field: issue.path.join('.'), detail: issue.message }));

const addMessages = (router: Router, { inbox, replies, now }: Provider): void => {
  router.get('/messages', (request, response) => {
    const query = messagesQuery.safeParse(request.query);
    if (!query.success) {
      problem(response, 'query_invalid', faultsOf(query.error));
      return;
    }
    const filter = { to: query.data.to, attemptKey: query.data.attempt_key, limit: query.data.limit };
    const at = now();
    response.json({
      messages: viewsOf('accepted', inbox, filter, at), refused: viewsOf('refused', inbox, filter, at),
      duplicates: inbox.duplicates(), duplicate_events: inbox.duplicateEvents(), counts: countsOf(inbox),
    });
  });
  router.delete('/messages', async (_request, response) => {
    await inbox.clear();
    replies.clear();
    response.sendStatus(204);
  });
};

/** The knobs a test or a demo turns: scenarios, outages, and the record of what was received. */
export const createControlApi = (provider: Provider): Router => {
  const { book, outages } = provider;
  const router = express.Router();
  const json = express.json({ limit: '1mb' });

  router.post('/scenarios', json, (request, response) => {
    const body = (request.body ?? {}) as { to?: unknown; script?: unknown };
    const faults = book.set(body.to, body.script);
    if (faults) problem(response, 'scenario_invalid', faults);
    else response.status(201).json({ to: body.to, script: body.script });
  });
  router.get('/scenarios', (_request, response) => {
    response.json({ scenarios: book.list() });
  });
  router.delete('/scenarios', (_request, response) => {
    book.clear();
    response.sendStatus(204);
  });
  router.post('/outage', json, async (request, response) => {
    const body = outageBody.safeParse(request.body ?? {});
    if (!body.success) {
      problem(response, 'outage_invalid', faultsOf(body.error));
      return;
    }
    const { channel, kind, forMs } = body.data;
    const state = { ...body.data };
    // closing this API's own port must not cut the answer off, so it comes first
    if (kind === 'closed' && channel === 'sms') response.set('Connection', 'close').json(state).once('close', () => void outages.set(channel, kind, forMs));
    else {
      await outages.set(channel, kind, forMs);
      response.json(state);
    }
  });
  router.get('/outage', (_request, response) => {
    response.json({ sms: outages.kind('sms'), email: outages.kind('email') });
  });
  addMessages(router, provider);
  router.use(createInboundApi(provider));
  return router;
};
