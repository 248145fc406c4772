import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Dialect } from './dialect.ts';
import type { Decision } from './http-submit.ts';
import { answerSubmission, decideSubmission } from './http-submit.ts';
import { createIdempotencyKeys } from './idempotency.ts';
import type { KeyUse } from './idempotency.ts';
import type { Receipt } from './inbox.ts';
import type { Provider } from './provider.ts';
import { refuseAsResend, refuseKey } from './resend-errors.ts';
import { isAccepted, sha256 } from './submission.ts';

export const RESEND: Dialect = {
  channel: 'email', codes: { unauthorized: 535, notFound: 404, reject: 550, throttle: 450, fail: 451 }, takenStatus: 200,
  withoutId: { object: 'email' }, refuse: refuseAsResend,
};
const MAX_KEY_CHARACTERS = 256;

/** Whether an id is one of this stand-in's. */
export const isEmailId = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);

interface EmailForm { to: string; from: string; subject: string; text: string | null; html: string | null; headers: Record<string, string>; invalid: number | null }

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const headersOf = (value: unknown): Record<string, string> => Object.fromEntries(
  Object.entries(typeof value === 'object' && value !== null ? value : {}).filter((pair): pair is [string, string] => typeof pair[1] === 'string').map(([name, said]) => [name.toLowerCase(), said]));

/** Reads the posted email: one recipient, as that is all a sender of notices needs. */
const formOf = (json: Record<string, unknown>): EmailForm => {
  const recipients: unknown[] = Array.isArray(json.to) ? json.to : [json.to];
  const to = text(recipients[0]) ?? '';
  const form = { to, from: text(json.from) ?? '', subject: text(json.subject) ?? '', text: text(json.text), html: text(json.html), headers: headersOf(json.headers) };
  const isWhole = recipients.length === 1 && /^[^\s@<>]+@[^\s@<>]+$/.test(to) && /@/.test(form.from) && form.subject !== '' && (form.text ?? form.html) !== null;
  return { ...form, invalid: isWhole ? null : 550 };
};

/** The files in a posted email, by their checksums. */
const attachedTo = ({ attachments }: Record<string, unknown>): Pick<Receipt, 'attachments'> => {
  if (!Array.isArray(attachments) || attachments.length === 0) return {};
  return {
    attachments: (attachments as Record<string, unknown>[]).map(({ filename, content_type: type, content }) => {
      const bytes = Buffer.from(text(content) ?? '', 'base64');
      return { name: text(filename), type: text(type) ?? '', bytes: bytes.length, sha256: sha256(bytes) };
    }),
  };
};

const KEY_REFUSALS = { in_progress: 'concurrent_idempotent_requests', other_body: 'invalid_idempotent_request' } as const;

/** What the key's earlier use makes of the request, before any script is asked. */
const decisionOnKey = (use: KeyUse): Decision | null => {
  switch (use.kind) {
    case 'new': return null;
    // not kept: it is the first one's message
    case 'replay': return { step: { submit: 'reject' }, behaviour: 'replayed', code: null };
    case 'in_progress':
    case 'other_body': return { step: { submit: 'reject' }, behaviour: KEY_REFUSALS[use.kind], code: null };
  }
};

/** The handler of `POST /emails`: records every submission, flushed, before it answers, drops or keeps silent. */
export const createResendSubmit = (provider: Provider, isAuthorized: (request: Request) => boolean) => {
  const { inbox, book, now } = provider;
  const keys = createIdempotencyKeys(inbox, ({ id }) => isEmailId(id));

  return async (request: Request, response: Response): Promise<void> => {
    // as text, for the key is bound to what arrived byte for byte
    const body = typeof request.body === 'string' ? request.body : '';
    const form = formOf(parsed(body));
    const key = request.get('Idempotency-Key') ?? null;
    if (key !== null && (key === '' || key.length > MAX_KEY_CHARACTERS)) return refuseKey(response, 'invalid_idempotency_key');
    const authorized = isAuthorized(request);
    const contentSha256 = sha256(body);
    const isAway = provider.outages.kind('email') !== 'off';
    const use: KeyUse = key === null || !authorized || isAway ? { kind: 'new' } : keys.use(key, contentSha256, now());
    if (key !== null && use.kind === 'new') keys.hold(key, response);
    const decision = decisionOnKey(use) ?? decideSubmission(provider, RESEND, { to: form.to, attemptKey: key, isAuthorized: authorized, invalid: form.invalid });
    const accepted = isAccepted(decision.step);
    const { to, from, subject, text: plain, html, headers } = form;
    const receipt: Receipt = {
      kind: accepted ? 'accepted' : 'refused', id: randomUUID(), channel: 'email', to, from, messagingServiceSid: null, body: null, subject, text: plain, html,
      headers, attemptKey: key ?? request.get('Tocsin-Attempt-Key') ?? null, receivedAt: now(), behaviour: decision.behaviour, code: decision.code,
      segments: null, contentSha256, ...attachedTo(parsed(body)), fate: accepted ? book.fateOf(to, 'email', true) : null,
    };
    await inbox.record(receipt);
    if (accepted && key !== null) keys.keep(key, receipt);
    if (use.kind === 'replay') response.json({ id: use.first.id });
    else if (use.kind !== 'new') refuseKey(response, KEY_REFUSALS[use.kind]);
    else await answerSubmission(response, decision, RESEND, () => ({ id: receipt.id }));
  };
};

const parsed = (body: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value as Record<string, unknown> : {};
  } catch {
    return {};
  }
};
