import express from 'express';
import type { Router } from 'express';
import { z } from 'zod';
import type { OriginStandIn } from './origin.ts';
import { ORDER_ANSWERS } from './origin.ts';
import { problem } from './problem.ts';

const body = z.strictObject({ order: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be letters, digits, _ and -'), answer: z.enum(ORDER_ANSWERS) });

/** What the shop says of its orders, and what it was asked. */
export const createOriginApi = (origin: OriginStandIn): Router => {
  const router = express.Router();
  router.get('/orders', (_request, response) => {
    response.json({ url: origin.url, questions: origin.questions() });
  });
  router.post('/orders', express.json(), (request, response) => {
    const read = body.safeParse(request.body ?? {});
    if (!read.success) {
      problem(response, 'order_invalid', read.error.issues.map((issue) => ({ field: issue.path.join('.'), detail: issue.message })));
      return;
    }
    origin.set(read.data.order, read.data.answer);
    response.status(201).json(read.data);
  });
  return router;
};
