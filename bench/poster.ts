import { createHttpClient } from '../shared/transports/http/client.ts';
import { atTheEnd } from '../test/audit/child-service.ts';
import { bodyOf } from './request.ts';
import type { ClockSet } from './clocks.ts';

const ANSWER_WITHIN_MS = 30_000;
const MOST_AT_ONCE = 64;

/** Posts notices over kept-alive connections; the same client for every contender. */
export const createPoster = (url: string, apiKey: string): ((index: number, clocks: ClockSet) => Promise<string>) => {
  const client = createHttpClient(false, MOST_AT_ONCE);
  atTheEnd(() => client.close());
  const target = new URL('/notifications', url);
  let turn = 0;
  return async (index, clocks) => {
    turn += 1;
    const body = bodyOf(index, clocks);
    const answer = await client.call({
      method: 'POST', url: target, body, maxBodyBytes: 65_536,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)), 'Idempotency-Key': `bench-${process.pid}-${clocks}-${index}-${turn}` },
    }, ANSWER_WITHIN_MS);
    if (answer.kind !== 'answered' || answer.httpStatus !== 202) throw new Error(`not accepted: ${JSON.stringify(answer).slice(0, 500)}`);
    return (JSON.parse(answer.body ?? '') as { event_id: string }).event_id;
  };
};
