import { STATUS_CODES } from 'node:http';

/** One field at fault: what is wrong with it, and what to do. */
export interface Fault { field: string; problem: string; cure: string }

export interface ProblemDetails {
  status: number;
  /** Stable; what a client may branch on. */
  code: string;
  /** What happened and what to do, for a person. Never holds what was sent. */
  detail: string;
  faults?: Fault[];
  headers?: Record<string, string>;
  /** Further members of the answer, e.g. the known purposes. */
  members?: Record<string, unknown>;
}

/** A request that is answered with RFC 9457 problem details. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly details: ProblemDetails;

  constructor(details: ProblemDetails) {
    super(details.code);
    this.details = details;
  }
}

/** The body of `application/problem+json`. `field` repeats the first field at fault. */
export const problemBody = ({ status, code, detail, faults = [], members = {} }: ProblemDetails): Record<string, unknown> => ({
  type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, code, detail,
  ...(faults[0] ? { field: faults[0].field, errors: faults } : {}), ...members,
});

/** The name under which a body that is at fault as a whole is told. */
export const WHOLE_BODY = 'body';

const sentence = ({ field, problem, cure }: Fault): string => `${field === WHOLE_BODY ? 'The body' : field} ${problem}: ${cure}.`;

/** An answer stays below 10 KB, however much was wrong with the request. */
const MOST_FAULTS = 20;
const MOST_SENTENCES = 5;

const more = (count: number): string[] => (count > 0 ? [`${count.toLocaleString('en')} more ${count === 1 ? 'field is' : 'fields are'} at fault.`] : []);

/**
 * Some fields are at fault: 400, or 422 where they are well-formed and break a rule. Names the first 20 of them, the first 5 in
 * words, and says how many more there are (`more_errors`).
 */
export const faultyFields = (faults: readonly Fault[], code: string, status = 400): Problem => new Problem({
  status, code, detail: [...faults.slice(0, MOST_SENTENCES).map(sentence), ...more(faults.length - MOST_SENTENCES)].join(' '), faults: faults.slice(0, MOST_FAULTS),
  ...(faults.length > MOST_FAULTS ? { members: { more_errors: faults.length - MOST_FAULTS } } : {}),
});

/** The one answer for an unknown id, for an id of another tenant, and for a path that nothing answers. */
export const notFound = (): Problem => new Problem({ status: 404, code: 'not_found', detail: 'There is nothing here. Check the address, and that the id belongs to this account.' });
