import type { Request, Response } from 'express';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { redactText } from '../../shared/security/redact.ts';
import { page } from './page.ts';
import { sendProblem } from './problem.ts';

/** What may stand in a filter of a list. `words` completes "… is …", or lists what there is. */
export interface FilterRule { words: string; fits: (value: string) => boolean }
export type FilterRules = Readonly<Record<string, FilterRule>>;

const LONGEST_NAMED = 60;
// What somebody pasted into an address is named back to him, but for what it may hold of others.
const named = (text: string): string => `“${redactText(text.slice(0, LONGEST_NAMED))}”`;

/** One of these words, and nothing else. */
export const oneOf = (what: string, values: readonly string[]): FilterRule => ({ words: `There is no such ${what}. There are: ${values.join(', ')}.`, fits: (value) => values.includes(value) });

/**
 * What is wrong with the filters of a list; null where nothing is. A filter that there is not, or a value that none can have, would else
 * show a list of something else than was asked for. An empty one is one that is not set: forms send those.
 */
export const wrongFilter = (query: Readonly<Record<string, unknown>>, rules: FilterRules): string | null => {
  for (const [name, given] of Object.entries(query)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (!rule) return `${named(name)} is no filter of this list. ${Object.keys(rules).length === 0 ? 'It has none.' : `There are: ${Object.keys(rules).join(', ')}.`}`;
    if (typeof given !== 'string') return `${named(name)} is given several times. Give it once.`;
    const value = given.trim();
    if (value !== '' && !rule.fits(value)) return `${named(value)} does not fit into ${named(name)}. ${rule.words}`;
  }
  return null;
};

/** Answers 400 with what is wrong: a page, or to whoever accepts nothing else a problem (RFC 9457). */
export const refuseFilter = (request: Request, response: Response, problem: string): void => {
  response.status(400).vary('Accept');
  if (request.accepts(['html', 'json']) === 'json') sendProblem(response, 400, { code: 'unknown_filter', detail: problem });
  else response.type('html').send(page('Not understood', `<h1>That filter is not understood</h1><p class="problem" role="alert">${escapeHtml(problem)}</p><p><a href="${escapeHtml(request.path)}">The whole list</a></p>`));
};
