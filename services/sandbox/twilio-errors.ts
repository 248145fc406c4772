import type { Response } from 'express';

/**
 * Error codes of the Twilio API and the HTTP status each comes with when a submission is refused. Facts: Twilio's public error
 * dictionary; wording our own. Codes that are not listed are 400 with a neutral text.
 */
const TABLE: Record<number, { httpStatus: number; text: string }> = {
  20003: { httpStatus: 401, text: 'Authenticate' },
  20404: { httpStatus: 404, text: 'The requested resource was not found' },
  20429: { httpStatus: 429, text: 'Too many requests' },
  20500: { httpStatus: 500, text: 'Internal server error' },
  21211: { httpStatus: 400, text: "Invalid 'To' phone number" },
  21408: { httpStatus: 400, text: 'Sending to this region is not enabled' },
  21602: { httpStatus: 400, text: 'A message body is required' },
  21603: { httpStatus: 400, text: "A 'From' number or a messaging service is required" },
  21604: { httpStatus: 400, text: "A 'To' phone number is required" },
  21610: { httpStatus: 400, text: 'The recipient has opted out' },
  21614: { httpStatus: 400, text: "'To' is not a mobile number" },
  21617: { httpStatus: 400, text: 'The message body exceeds 1600 characters' },
  30001: { httpStatus: 400, text: 'Queue overflow' },
  30002: { httpStatus: 400, text: 'Account suspended' },
  30003: { httpStatus: 400, text: 'Unreachable destination handset' },
  30005: { httpStatus: 400, text: 'Unknown destination handset' },
  30006: { httpStatus: 400, text: 'Landline or unreachable carrier' },
  30007: { httpStatus: 400, text: 'Message filtered' },
  30008: { httpStatus: 400, text: 'Unknown error' },
  30034: { httpStatus: 400, text: 'Message from an unregistered number' },
};

export interface TwilioError { code: number; message: string; more_info: string; status: number }

/** The text of a code, as it stands in `error_message`. */
export const errorText = (code: number): string => TABLE[code]?.text ?? 'The request was refused';

/** The error body of the API; `httpStatus` overrides the usual one. */
export const twilioError = (code: number, httpStatus?: number): TwilioError => ({
  code, message: errorText(code), more_info: `https://www.twilio.com/docs/errors/${code}`, status: httpStatus ?? TABLE[code]?.httpStatus ?? 400,
});

/** Sends an error of the API in its own shape. */
export const refuse = (response: Response, code: number, httpStatus?: number): void => {
  const body = twilioError(code, httpStatus);
  response.status(body.status).json(body);
};
