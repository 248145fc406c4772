import express from 'express';
import type { Router } from 'express';
import { z } from 'zod';
import { problem } from './problem.ts';
import type { Provider } from './provider.ts';

const number = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be a number in E.164, such as +12025550103');
const body = z.strictObject({
  from: number,
  text: z.string().min(1, 'must not be empty').max(1_600),
  to: z.string().min(1).max(64).optional(),
});

/** Whose message the person answers: that of the newest one to him, else of the newest one to anybody. */
const answered = ({ inbox }: Provider, from: string): string | null => {
  const to = inbox.acceptedTo(from).findLast(({ channel }) => channel === 'sms') ?? inbox.accepted().findLast(({ channel }) => channel === 'sms');
  return to?.messagingServiceSid ?? to?.from ?? null;
};

/** Lets somebody text back: `POST /inbound`, as JSON or as the form of the inbox page. */
export const createInboundApi = (provider: Provider): Router => {
  const router = express.Router();
  router.post('/inbound', express.json({ limit: '64kb' }), express.urlencoded({ extended: false, limit: '64kb' }), (request, response) => {
    const read = body.safeParse(request.body ?? {});
    if (!read.success) {
      problem(response, 'inbound_invalid', read.error.issues.map((issue) => ({ field: issue.path.join('.'), detail: issue.message })));
      return;
    }
    const { from, text } = read.data;
    const to = read.data.to ?? answered(provider, from);
    if (to === null) {
      problem(response, 'inbound_invalid', [{ field: 'to', detail: 'is needed: nothing was sent that could be answered' }]);
      return;
    }
    const reply = provider.replies.add({ from, to, text });
    if (request.is('application/x-www-form-urlencoded')) response.redirect(303, `/?to=${encodeURIComponent(from)}`);
    else response.status(201).json({ id: reply.twilioId, from, to, text, received_at: new Date(reply.at).toISOString() });
  });
  router.get('/inbound', (_request, response) => {
    response.json({ inbound: provider.replies.all().map(({ twilioId: id, from, to, text, at }) => ({ id, from, to, text, received_at: new Date(at).toISOString() })).reverse() });
  });
  return router;
};
