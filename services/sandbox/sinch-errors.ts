import type { Response } from 'express';

interface SinchError { httpStatus: number; code: string; text: string }

/** What a script's code is called in the batches API. Facts: Sinch's public API reference; wording our own. */
const TABLE: Record<number, SinchError> = {
  20003: { httpStatus: 401, code: 'unauthorized', text: 'The plan or its token is not known' },
  20404: { httpStatus: 404, code: 'not_found', text: 'There is no such resource' },
  20429: { httpStatus: 429, code: 'too_many_requests', text: 'Too many requests' },
  20500: { httpStatus: 500, code: 'internal_error', text: 'Internal server error' },
  21211: { httpStatus: 400, code: 'syntax_invalid_parameter_format', text: 'A recipient is not a number' },
  21408: { httpStatus: 403, code: 'forbidden', text: 'Sending to this region is not enabled' },
  21602: { httpStatus: 400, code: 'syntax_constraint_violation', text: 'A body is required' },
  21603: { httpStatus: 400, code: 'syntax_constraint_violation', text: 'A sender is required' },
  21614: { httpStatus: 400, code: 'syntax_invalid_parameter_format', text: 'A recipient is not a mobile number' },
  21617: { httpStatus: 400, code: 'syntax_constraint_violation', text: 'The body is too long' },
  30001: { httpStatus: 402, code: 'payment_required', text: 'The quota is used up' },
  30007: { httpStatus: 400, code: 'syntax_constraint_violation', text: 'The body is not allowed' },
};
const OTHER: SinchError = { httpStatus: 400, code: 'refused', text: 'The request was refused' };

/** Sends an error of the API in its own shape. */
export const refuseAsSinch = (response: Response, code: number, httpStatus?: number): void => {
  const error = TABLE[code] ?? OTHER;
  response.status(httpStatus ?? error.httpStatus).json({ code: error.code, text: error.text });
};
