import type { Response } from 'express';

/** HTTP status and name of an error. Facts: Resend's public error reference; wording our own. */
type ResendError = [httpStatus: number, name: string, text: string];

const UNAVAILABLE: ResendError = [500, 'internal_server_error', 'Something went wrong'];
const THROTTLED: ResendError = [429, 'rate_limit_exceeded', 'Too many requests'];

/** What the SMTP reply code of a script is called here; a recipient that a mail server would refuse is a validation error. */
const TABLE: Record<number, ResendError> = {
  404: [404, 'not_found', 'There is no such email'],
  421: THROTTLED,
  450: THROTTLED,
  451: UNAVAILABLE,
  452: [429, 'daily_quota_exceeded', 'The daily quota is used up'],
  535: [403, 'invalid_api_key', 'The API key is not known'],
  552: [422, 'invalid_attachment', 'The content is not allowed'],
  554: [422, 'invalid_attachment', 'The content is not allowed'],
};
const REFUSED: ResendError = [422, 'validation_error', 'A field is not valid'];

/** Names that come with an HTTP status of their own, whatever the code behind it. */
const BY_STATUS: Record<number, ResendError> = { 429: THROTTLED, 500: UNAVAILABLE };

const send = (response: Response, [httpStatus, name, message]: ResendError): void => {
  response.status(httpStatus).json({ statusCode: httpStatus, name, message });
};

/** Sends an error of the API in its own shape. */
export const refuseAsResend = (response: Response, code: number, httpStatus?: number): void => {
  const known = TABLE[code] ?? REFUSED;
  if (httpStatus === undefined || httpStatus === known[0]) return send(response, known);
  const [, name, message] = BY_STATUS[httpStatus] ?? (httpStatus >= 500 ? UNAVAILABLE : known);
  send(response, [httpStatus, name, message]);
};

/** An idempotency key that is in use or was used for another body. */
export const refuseKey = (response: Response, name: 'concurrent_idempotent_requests' | 'invalid_idempotent_request' | 'invalid_idempotency_key'): void =>
  send(response, [name === 'invalid_idempotency_key' ? 400 : 409, name, 'The idempotency key cannot be used for this request']);
