import type { Response } from 'express';
import type { ScriptFault } from './script.ts';

/** RFC 9457; `errors` names every field at fault, `field` and `detail` the first. */
export const problem = (response: Response, code: string, faults: ScriptFault[]): void => {
  const first = faults[0] ?? { field: '', detail: 'The request cannot be read' };
  response.status(400).type('application/problem+json').send(JSON.stringify({
    type: 'about:blank', title: 'Bad Request', status: 400, code, field: first.field, detail: `${first.field}: ${first.detail}`, errors: faults,
  }));
};
