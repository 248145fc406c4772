import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** A question as an origin system receives it: `target` is path and query exactly as they came, `host` the Host header. */
export interface ReceivedQuestion { signature: string; eventId: string; method: string; host: string; target: string; body: Buffer }

const TOLERANCE_S = 300;

/** Whether a question is Tocsin's, and not an old one; written from docs/precondition.md alone, as a receiver would. */
export const isSignedQuestion = (question: ReceivedQuestion, secret: string, nowMs: number): boolean => {
  const fields = question.signature.split(',').map((field) => field.split('='));
  const t = fields.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(t) || Math.abs(nowMs / 1000 - Number(t)) > TOLERANCE_S) return false;
  const digest = createHash('sha256').update(question.body).digest('hex');
  const text = ['tocsin-precondition-1', t, question.eventId, question.method, question.host, question.target, digest].join('\n');
  const expected = createHmac('sha256', secret).update(text).digest();
  return fields.some(([name, value]) => {
    const given = Buffer.from(name === 'v1' ? value ?? '' : '', 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
};
