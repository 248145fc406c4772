import type { Request, Response } from 'express';
import type { Dialect } from './dialect.ts';
import { answerSubmission, decideSubmission } from './http-submit.ts';
import type { Receipt } from './inbox.ts';
import type { Provider } from './provider.ts';
import { segmentsOf } from './segments.ts';
import { isAccepted, newMessageId, sha256 } from './submission.ts';
import { refuse } from './twilio-errors.ts';
import { twilioMessage } from './twilio-message.ts';

const MAX_BODY_CHARACTERS = 1600;

export const TWILIO: Dialect = {
  channel: 'sms', codes: { unauthorized: 20003, notFound: 20404, reject: 21211, throttle: 20429, fail: 20500 }, takenStatus: 201,
  withoutId: { status: 'queued' }, refuse,
};

/** The code with which the API refuses the form, null where it is in order. */
const invalidCode = (form: Record<string, string | undefined>): number | null => {
  if (!form.To) return 21604;
  if (!/^\+[1-9]\d{6,14}$/.test(form.To)) return 21211;
  if (!form.From && !form.MessagingServiceSid) return 21603;
  if (form.ContentVariables && !form.ContentSid) return 21654;
  if (form.ContentSid) return form.Body ? 35127 : null;
  if (!form.Body) return 21602;
  return form.Body.length > MAX_BODY_CHARACTERS ? 21617 : null;
};

/** The texts of content templates are not known here: the inbox shows what was asked for. */
const contentText = (form: Record<string, string | undefined>): string => `[${form.ContentSid}] ${form.ContentVariables ?? ''}`.trim();

/** The handler of `POST …/Messages.json`: records every submission, flushed, before it answers, drops or keeps silent. */
export const createTwilioSubmit = (provider: Provider, isAuthorized: (request: Request) => boolean) =>
  async (request: Request<{ account: string }>, response: Response): Promise<void> => {
    const { inbox, book, now } = provider;
    const form = (request.body ?? {}) as Record<string, string | undefined>;
    const attemptKey = request.get('Tocsin-Attempt-Key') ?? null;
    const decision = decideSubmission(provider, TWILIO, {
      to: form.To ?? '', attemptKey, isAuthorized: isAuthorized(request as unknown as Request), invalid: invalidCode(form),
    });
    const accepted = isAccepted(decision.step);
    const body = form.ContentSid ? contentText(form) : form.Body ?? null;
    const receipt: Receipt = {
      kind: accepted ? 'accepted' : 'refused', id: newMessageId('SM'), channel: 'sms', to: form.To ?? '', from: form.From ?? null,
      messagingServiceSid: form.MessagingServiceSid ?? null, body, subject: null, text: null, html: null, headers: {}, attemptKey,
      receivedAt: now(), behaviour: decision.behaviour, code: decision.code, segments: body === null ? null : segmentsOf(body),
      contentSha256: sha256(JSON.stringify([form.To, form.From, form.MessagingServiceSid, body])),
      fate: accepted ? book.fateOf(form.To as string, 'sms') : null,
    };
    await inbox.record(receipt);
    await answerSubmission(response, decision, TWILIO, () => twilioMessage(receipt, request.params.account, receipt.receivedAt));
  };
