import { STATUS_CODES } from 'node:http';
import type { Response } from 'express';
import type { ScriptFault } from './script.ts';

/** RFC 9457; `errors` names every field at fault, `field` and `detail` the first. */
export const problem = (response: Response, code: string, faults: ScriptFault[], status = 400): void => {
  const first = faults[0] ?? { field: '', detail: 'The request cannot be read' };
  response.status(status).type('application/problem+json').send(JSON.stringify({
    type: 'about:blank', title: STATUS_CODES[status], status, code, field: first.field, detail: `${first.field}: ${first.detail}`, errors: faults,
  }));
};
