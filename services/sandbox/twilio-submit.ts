import { setTimeout as wait } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { SegmentedMessage } from 'sms-segments-calculator';
import type { Receipt } from './inbox.ts';
import type { Provider } from './provider.ts';
import type { SubmitStep } from './script.ts';
import { isAccepted, newMessageId, sha256 } from './submission.ts';
import { refuse } from './twilio-errors.ts';
import { twilioMessage } from './twilio-message.ts';

/** A decision on one POST: the step, and under which name and code it is recorded. */
interface Decision { step: SubmitStep; behaviour: string; code: number | null }

const MAX_BODY_CHARACTERS = 1600;
// most texts of a run differ only in a reference, so plain ones are counted by their length alone
const PLAIN_GSM = /^[A-Za-z0-9 \r\n@!"#%&'()*+,\-./:;<=>?_]*$/;

const segmentsOf = (body: string): number => {
  if (PLAIN_GSM.test(body)) return body.length <= 160 ? 1 : Math.ceil(body.length / 153);
  return new SegmentedMessage(body).segmentsCount;
};

/** The code with which the API refuses the form, null where it is in order. */
const invalidCode = (form: Record<string, string | undefined>): number | null => {
  if (!form.To) return 21604;
  if (!/^\+[1-9]\d{6,14}$/.test(form.To)) return 21211;
  if (!form.From && !form.MessagingServiceSid) return 21603;
  if (!form.Body) return 21602;
  return form.Body.length > MAX_BODY_CHARACTERS ? 21617 : null;
};

const codeOf = (step: SubmitStep): number | null => {
  switch (step.submit) {
    case 'reject': return step.code ?? 21211;
    case 'throttle': return step.code ?? 20429;
    case 'fail':
    case 'fail_after_accept': return step.code ?? 20500;
    default: return null;
  }
};

const refusal = (behaviour: string, code: number): Decision => ({ step: { submit: 'reject', code }, behaviour, code });

const sendNonsense = (response: Response, step: Extract<SubmitStep, { submit: 'nonsense' }>): void => {
  response.status(step.httpStatus ?? 201);
  switch (step.form ?? 'html') {
    case 'html': response.type('html').send('<!doctype html><title>Proxy</title><p>It works!'); break;
    case 'json_without_sid': response.json({ status: 'queued' }); break;
    case 'truncated_json': response.type('json').send('{"sid": "SM'); break;
    case 'empty': response.end();
  }
};

/** Answers as decided. A lost response is a destroyed socket: the client has written everything and hears nothing. */
const answer = async (response: Response, { step, code }: Decision, accepted: () => Record<string, unknown>): Promise<void> => {
  switch (step.submit) {
    case 'accept':
      if (step.answerAfterMs) await wait(step.answerAfterMs);
      response.status(201).json(accepted());
      break;
    case 'reject': refuse(response, code ?? 21211, step.httpStatus); break;
    case 'throttle':
      if (step.retryAfter !== undefined) response.set('Retry-After', String(step.retryAfter));
      refuse(response, code ?? 20429, 429);
      break;
    case 'fail':
    case 'fail_after_accept': refuse(response, code ?? 20500, step.httpStatus ?? 500); break;
    case 'nonsense': sendNonsense(response, step); break;
    case 'lose_response':
    case 'drop_before_read': response.socket?.destroy(); break;
    case 'hang': break;
  }
};

/** The handler of `POST …/Messages.json`: records every submission, flushed, before it answers, drops or keeps silent. */
export const createTwilioSubmit = ({ inbox, book, outages, now }: Provider, isAuthorized: (request: Request) => boolean) => {
  const decide = (request: Request, form: Record<string, string | undefined>, attemptKey: string | null): Decision => {
    if (!isAuthorized(request)) return refusal('unauthorized', 20003);
    if (outages.kind('sms') === 'hang') return { step: { submit: 'hang' }, behaviour: 'outage', code: null };
    if (outages.kind('sms') === 'error500') return { step: { submit: 'fail' }, behaviour: 'outage', code: 20500 };
    const invalid = invalidCode(form);
    if (invalid !== null) return refusal('invalid', invalid);
    const to = form.To as string;
    const step = book.settle(book.draw(to, 'sms'), to, attemptKey);
    return { step, behaviour: step.submit, code: codeOf(step) };
  };

  return async (request: Request<{ account: string }>, response: Response): Promise<void> => {
    const form = (request.body ?? {}) as Record<string, string | undefined>;
    const attemptKey = request.get('Tocsin-Attempt-Key') ?? null;
    const decision = decide(request as unknown as Request, form, attemptKey);
    const accepted = isAccepted(decision.step);
    const body = form.Body ?? null;
    const receipt: Receipt = {
      kind: accepted ? 'accepted' : 'refused', id: newMessageId('SM'), channel: 'sms', to: form.To ?? '', from: form.From ?? null,
      messagingServiceSid: form.MessagingServiceSid ?? null, body, subject: null, text: null, html: null, headers: {}, attemptKey,
      receivedAt: now(), behaviour: decision.behaviour, code: decision.code, segments: body === null ? null : segmentsOf(body),
      contentSha256: sha256(JSON.stringify([form.To, form.From, form.MessagingServiceSid, body])),
      fate: accepted ? book.fateOf(form.To as string, 'sms') : null,
    };
    await inbox.record(receipt);
    await answer(response, decision, () => twilioMessage(receipt, request.params.account, receipt.receivedAt));
  };
};
