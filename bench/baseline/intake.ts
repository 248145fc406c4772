import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { ulid } from 'ulid';
import { DECIDE_WITHIN_MS } from '../clocks.ts';
import { KEEP_NOTHING, openQueue, pool } from './settings.ts';

const queue = openQueue('sms');

interface Body { purpose: string; recipient: { sms: string; email: string }; variables: Record<string, string> }

/** Takes a notice: one INSERT and one job, with a moment between them in which it may be lost. */
export const startIntake = async (): Promise<string> => {
  const app = express().disable('x-powered-by').disable('etag');
  app.use(express.json());
  app.post('/notifications', async (request, response) => {
    if (request.get('authorization') === undefined) { response.sendStatus(401); return; }
    const { purpose, recipient, variables } = request.body as Body;
    const id = `evt_${ulid()}`;
    const now = Date.now();
    const deadlineAt = now + (purpose === 'bench-lag' ? DECIDE_WITHIN_MS.lag : DECIDE_WITHIN_MS.load);
    await pool.query('INSERT INTO notice (id, created_at, deadline_at, body) VALUES ($1, $2, $3, $4)', [id, new Date(now), new Date(deadlineAt), JSON.stringify(request.body)]);
    await queue.add('sms', { id, deadlineAt, to: { sms: recipient.sms, email: recipient.email }, variables }, KEEP_NOTHING);
    response.status(202).json({ event_id: id, status: 'accepted', received_at: new Date(now).toISOString() });
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
