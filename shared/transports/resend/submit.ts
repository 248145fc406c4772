import type { SubmitResult } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import { faultPoint } from '../../telemetry/fault-points.ts';
import type { Answered } from '../http/answer.ts';
import { hasId, idOf, isSuccess, jsonOf, rawOf, statusOf } from '../http/answer.ts';
import { NOT_UNDERSTOOD, resultOfCall, resultOfError } from '../http/error-meaning.ts';
import type { JsonApi } from '../http/json-api.ts';
import type { StreamedBody } from '../http/exchange.ts';
import type { EmailMessage } from '../mail-body.ts';
import { base64Length, base64Of, BrokenAttachment } from '../mail-body.ts';
import type { OpenArtifact, SubmitRequest } from '../transport.ts';
import { meaningOfInnerError, meaningOfRefusal, nameOf } from './error-table.ts';
import type { MailFields } from './mail-fields.ts';
import { mailFieldsOf } from './mail-fields.ts';

/** The meaning of the answer to `POST /emails`. */
export const readSubmitAnswer = (answer: Answered, now: Instant): SubmitResult => {
  const json = jsonOf(answer);
  const name = nameOf(json);
  if (!isSuccess(answer)) return resultOfError(meaningOfRefusal(answer.httpStatus, name), answer, name, now);
  if (!json) return { kind: 'unknown', reason: 'answer_not_understood', raw: rawOf(answer, null) };
  // an error body under a 2xx
  if (name !== null) return resultOfError(meaningOfInnerError(statusOf(json.statusCode), name, hasId(json.id)) ?? NOT_UNDERSTOOD, answer, name, now);
  const id = idOf(json.id);
  if (!id) return { kind: 'unknown', reason: 'answer_without_id', raw: rawOf(answer, null) };
  return { kind: 'accepted', providerMessageId: id, raw: rawOf(answer, null) };
};

type Body = string | { bytes: number; pieces: StreamedBody };

/** The body as JSON; what is attached is read and written as base64 while it is sent, into the empty places of the same JSON. */
const bodyOf = (message: EmailMessage, { files = [], ...fields }: MailFields, openArtifact: OpenArtifact | undefined): Body => {
  const { from, subject, text, html, headers } = fields;
  const { attachments = [] } = message;
  const json = JSON.stringify({ from, to: [message.to], subject, text, html, headers, ...(files.length > 0 ? { attachments: files.map(({ name, type }) => ({ filename: name, content_type: type, content: '' })) } : {}) });
  if (attachments.length === 0) return json;
  // Nothing comes after the attachments, and their own fields are ours: the last `"content":""` in the text are theirs.
  const empty = '"content":""';
  const between = json.split(empty);
  const head = between.slice(0, between.length - attachments.length).join(empty);
  const pieces = [head, ...between.slice(-attachments.length)].map((piece, index, all) => Buffer.from(`${index === 0 ? '' : '"'}${piece}${index === all.length - 1 ? '' : '"content":"'}`, 'utf8'));
  return {
    bytes: pieces.reduce((sum, piece) => sum + piece.length, 0) + attachments.reduce((sum, { bytes }) => sum + base64Length(bytes), 0),
    pieces: async function* () {
      yield pieces[0] as Buffer;
      for (const [index, attachment] of attachments.entries()) {
        yield* base64Of(attachment, openArtifact);
        yield pieces[index + 1] as Buffer;
      }
    },
  };
};

/**
 * One `POST /emails` under the attempt key as `Idempotency-Key`. Never repeated here; but as the same attempt gives the same
 * body byte for byte, a second call within the provider's 24 hours sends nothing and answers with the first one's id.
 */
export const submit = async (api: JsonApi, { attemptKey, message, mayStart, openArtifact, limitMs }: SubmitRequest): Promise<SubmitResult> => {
  if (message.channel !== 'email') throw new Error('resend carries email only');
  const fields = mailFieldsOf(message.mime);
  // not a message of ours: nothing was sent, and sending it again would not help
  if (!fields || (fields.files ?? []).length !== (message.attachments ?? []).length) return { kind: 'rejected', outcome: 'rejected', reason: 'render_error' };
  try {
    const outcome = await api.post(api.url('/emails'), bodyOf(message, fields, openArtifact), {
      headers: { 'Idempotency-Key': attemptKey, 'Tocsin-Attempt-Key': attemptKey }, mayStart, onWritten: () => faultPoint('bytes-sent'), limitMs,
    });
    return resultOfCall(outcome, (answer) => readSubmitAnswer(answer, api.now()));
  } catch (error) {
    if (error instanceof BrokenAttachment) return { kind: 'unsendable', reason: error.reason };
    throw error;
  }
};
