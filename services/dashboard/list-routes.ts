import type { Router } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import { EVENT_ID } from '../../shared/domain/words.ts';
import { listNotificationPage, listPurposes } from '../../shared/ledger/list-notifications.ts';
import type { NotificationFilter } from '../../shared/ledger/list-notifications.ts';
import { readVersion } from '../../shared/ledger/reads.ts';
import { oneOf, refuseFilter, wrongFilter } from './filter-rules.ts';
import { listPage } from './list-page.ts';
import { STATUS_WORDS } from './notification-words.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined);

const filterOf = (query: Record<string, unknown>): NotificationFilter => {
  const status = text(query['status']);
  const purpose = text(query['purpose']);
  const before = text(query['before']);
  const throttled = text(query['throttled']) === 'yes';
  return { ...(status === undefined ? {} : { status }), ...(purpose === undefined ? {} : { purpose }), ...(throttled ? { throttled } : {}), ...(before === undefined ? {} : { before }) };
};

const rulesFor = (purposes: readonly string[]) => ({
  event: { words: '', fits: () => true }, status: oneOf('status', Object.keys(STATUS_WORDS)), purpose: oneOf('purpose', purposes), throttled: oneOf('throttled', ['yes']), before: { words: 'It is an event id.', fits: (value: string) => EVENT_ID.test(value) },
});

/** `GET /`: the list with its filters; with `event` the way to that notification, also by an attempt key of it. */
export const addList = (router: Router, engine: Engine): void => {
  router.get('/', async (request, response) => {
    const purposes = await listPurposes(engine.db);
    const wrong = wrongFilter(request.query, rulesFor(purposes));
    if (wrong !== null) return refuseFilter(request, response, wrong);
    const search = text(request.query['event']);
    const eventId = search?.split('.')[0];
    const known = eventId !== undefined && EVENT_ID.test(eventId) && await readVersion(engine.db, eventId) !== null;
    if (known) {
      response.redirect(303, `/notifications/${eventId}`);
      return;
    }
    const problem = eventId === undefined ? undefined : EVENT_ID.test(eventId) ? 'There is no notification with this id here. Compare it with the receipt.' : 'That is not an event id: it begins with evt_ and has 26 characters after that.';
    const filter = filterOf(request.query);
    const listed = await listNotificationPage(engine.db, filter);
    response.status(problem === undefined ? 200 : 404).type('html').send(listPage({ listed, filter, purposes, now: engine.now(), problem, search }));
  });
};
