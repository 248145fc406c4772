import type { Request, Response, Router } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import { eventIdIn, listRisks, riskListView } from '../../shared/delivery/at-risk.ts';
import { readVersion } from '../../shared/ledger/reads.ts';
import { atRiskPage } from './at-risk-page.ts';
import { refuseFilter, wrongFilter } from './filter-rules.ts';

/** Rows of a page; programs may have all that was looked at. */
const SHOWN = 100;
const LONGEST_SEARCH = 200;

const RULES = { q: { words: `It is an event id, a recipient reference or a request id, and no longer than ${LONGEST_SEARCH} characters.`, fits: (value: string) => value.length <= LONGEST_SEARCH } };

const searchOf = (query: Record<string, unknown>): string | null => {
  const text = typeof query['q'] === 'string' ? query['q'].trim() : '';
  return text === '' ? null : text;
};

/** Whether the filters were understood; else that was said. */
const understood = (request: Request, response: Response): boolean => {
  const wrong = wrongFilter(request.query, RULES);
  if (wrong !== null) refuseFilter(request, response, wrong);
  return wrong === null;
};

/** `GET /at-risk`: what an operator should look at, as a page, or as JSON for whoever accepts nothing else; `/at-risk/view` is JSON for everyone. */
export const addAtRisk = (router: Router, engine: Engine): void => {
  router.get('/at-risk', async (request, response) => {
    if (!understood(request, response)) return;
    const search = searchOf(request.query);
    response.vary('Accept');
    if (request.accepts(['html', 'json']) === 'json') {
      response.json(riskListView(await listRisks(engine, { shown: Number.POSITIVE_INFINITY, search })));
      return;
    }
    const list = await listRisks(engine, { shown: SHOWN, search });
    const eventId = search === null || list.count > 0 ? null : eventIdIn(search);
    const named = eventId === null ? null : { eventId, exists: await readVersion(engine.db, eventId) !== null };
    response.type('html').send(atRiskPage({ list, search, named }));
  });
  router.get('/at-risk/view', async (request, response) => {
    if (!understood(request, response)) return;
    response.json(riskListView(await listRisks(engine, { shown: Number.POSITIVE_INFINITY, search: searchOf(request.query) })));
  });
};
