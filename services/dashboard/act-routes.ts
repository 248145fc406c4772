import type { Express, Request, Response } from 'express';
import { closeAs, pauseAs, resumeAs, retryAs } from '../../shared/delivery/audited.ts';
import type { OperatorAct } from '../../shared/delivery/audited.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { AttemptKey } from '../../shared/domain/words.ts';
import { EVENT_ID, parseAttemptKey } from '../../shared/domain/words.ts';
import type { Permitted } from '../../shared/domain/permitted.ts';
import { reasonCodeOf } from '../../shared/delivery/operator-reason.ts';
import { insertAudit } from '../../shared/ledger/audit-entries.ts';
import { redactText } from '../../shared/security/redact.ts';
import { mayChange } from './board-rules.ts';
import { callerOf } from './caller.ts';
import { seenIn } from './actions-section.ts';
import { notificationPage } from './notification-page.ts';
import type { ShownNotification } from './notification-view.ts';
import { showNotification } from './notification-view.ts';
import { OFFER_REFUSALS, offeredActions } from './offered-actions.ts';
import type { OfferRefusal } from './offered-actions.ts';
import { page } from './page.ts';
import { readReason } from './reason-routes.ts';

const ACTS = ['close', 'pause', 'resume', 'retry'] as const;
type Act = Permitted['action'];

/** A form as it was sent, for the notification of its address. */
interface SentForm { act: Act; attempt: AttemptKey | null; seen: number | null; user: string }

const NOT_YOURS = '<h1>Your role may look only</h1><p>Ask an operator to close, pause, resume or retry.</p>';
const PAST: Readonly<Record<Act, string>> = { close: 'closed it', pause: 'paused it', resume: 'resumed it', retry: 'retried an attempt of it' };

const readForm = (act: Act, request: Request): SentForm => {
  const { attempt, seen } = (request.body ?? {}) as { attempt?: unknown; seen?: unknown };
  const key = typeof attempt === 'string' && parseAttemptKey(attempt)?.eventId === request.params['event_id'] ? attempt as AttemptKey : null;
  return { act, attempt: act === 'retry' ? key : null, seen: typeof seen === 'string' && /^\d{1,9}$/.test(seen) ? Number(seen) : null, user: callerOf(request.headers).user };
};

/** The very form was sent before, by the same person: what it asks for was done by then. */
const isRepeated = ({ acts }: ShownNotification, { act, attempt, seen, user }: SentForm): boolean => {
  const newest = acts.at(-1);
  return newest !== undefined && seen !== null && newest.version > seen && newest.act === act && newest.actor === user && newest.attempt === attempt;
};

/** Somebody acted since the page with the form was made: what its reader decided on is not what is. */
const staleness = (found: ShownNotification, { seen }: SentForm): string | null => {
  const newest = found.acts.at(-1);
  if (newest === undefined || seen === null || seenIn(found) <= seen) return null;
  return `Nothing was done: ${newest.actor} ${PAST[newest.act]} at ${new Date(newest.at).toISOString().slice(11, 19)} UTC, after your page was made. Look again, and act if you still want to.`;
};

/** The same person did it before, for another reason: the first one stands, and that the new one does not must be said. */
const otherReason = ({ acts }: ShownNotification, { act, attempt, user }: SentForm, given: string): string | null => {
  const stands = acts.findLast((one) => one.act === act && one.attempt === attempt);
  const said = stands?.words ?? stands?.reason;
  // Words that were destroyed since cannot be compared.
  if (stands?.actor !== user || said === given || (stands.reason === 'other' && stands.words === null)) return null;
  return `Nothing was done: you ${PAST[act]} already, at ${new Date(stands.at).toISOString().slice(11, 19)} UTC, because “${redactText(said ?? '')}”. That reason stands, and the new one was not recorded.`;
};

type NotDone = 'not_found' | 'refused' | OfferRefusal;

/** Retries an attempt that the page has a retry for. That its dead letter was discarded is no entry, so the decider cannot refuse it. */
const performRetry = async (engine: Engine, found: ShownNotification, what: OperatorAct & { attempt: AttemptKey }): Promise<NotDone | null> => {
  const { attempt, audit, reason } = what;
  if (offeredActions(found).some((one) => one.attempt === attempt && one.refusal === 'discarded')) {
    await insertAudit(engine.db, audit, [{ action: 'notification.retry', target: attempt, result: 'discarded', reason: reasonCodeOf(reason) }], engine.now());
    return 'discarded';
  }
  const outcome = await retryAs(engine, what);
  return outcome.kind === 'refused' ? outcome.refusal : outcome.kind === 'not_found' ? 'not_found' : null;
};

/** Carries it out; null once it stands as it was asked for, else why nothing was done. */
const perform = async (engine: Engine, found: ShownNotification, { act, attempt }: SentForm, what: OperatorAct): Promise<NotDone | null> => {
  if (act === 'retry') return attempt === null ? 'no_such_attempt' : performRetry(engine, found, { ...what, attempt });
  const outcome = await { close: closeAs, pause: pauseAs, resume: resumeAs }[act](engine, what);
  return outcome.kind === 'not_found' ? 'not_found' : outcome.kind === 'not_open' ? 'refused' : null;
};

const refusalWords = (shown: ShownNotification, { act, attempt }: SentForm, refused: Exclude<NotDone, 'not_found'>): string => {
  const why = refused === 'refused' ? offeredActions(shown).find((one) => one.action === act && one.attempt === attempt)?.refusal : refused;
  return `Nothing was done: ${why ? OFFER_REFUSALS[why] : 'it changed at that moment. Look again'}.`;
};

/** `GET /notifications/EVENT/act`, which leads to the page itself, and the four calls that its forms make. */
export const addActs = (app: Express, engine: Engine, sendMissing: (response: Response) => void): void => {
  const find = (eventId: string) => (EVENT_ID.test(eventId) ? showNotification(engine, eventId) : null);
  app.get('/notifications/:event_id/act', (request, response) => { response.set('Cache-Control', 'no-store').redirect(303, `/notifications/${encodeURIComponent(request.params.event_id)}#actions`); });

  const act = async (request: Request, response: Response, kind: Act): Promise<void> => {
    const eventId = String(request.params['event_id']);
    const caller = callerOf(request.headers);
    if (!mayChange(caller.role)) return void response.status(403).type('html').send(page('Not for you', NOT_YOURS));
    const form = readForm(kind, request);
    const given = (request.body as { reason?: unknown } | undefined)?.reason;
    const found = await find(eventId);
    if (!found) return sendMissing(response);
    const again = (status: 409 | 422, problem: string, now: ShownNotification): void => {
      response.status(status).type('html').send(notificationPage(now, { looker: caller, still: true, problem: { ...form, problem, given: typeof given === 'string' ? given : '', inField: status === 422 } }));
    };
    const done = (now: ShownNotification): void => {
      const other = typeof given === 'string' ? otherReason(now, form, given.trim()) : null;
      if (other === null) response.redirect(303, `/notifications/${eventId}?told=${kind}`);
      else again(409, other, now);
    };
    if (isRepeated(found, form)) return done(found);
    const stale = staleness(found, form);
    if (stale !== null) return again(409, stale, found);
    const read = readReason(given);
    if ('problem' in read) return again(422, read.problem, found);
    const refused = await perform(engine, found, form, { eventId, reason: read.reason, actor: caller.user, audit: caller.audit });
    const after = refused === 'not_found' ? null : await find(eventId);
    if (!after) return sendMissing(response);
    if (refused === null || isRepeated(after, form)) return done(after);
    again(409, refusalWords(after, form, refused as Exclude<NotDone, 'not_found'>), after);
  };
  for (const kind of ACTS) app.post(`/notifications/:event_id/${kind}`, (request, response) => act(request, response.set('Cache-Control', 'no-store'), kind));
};
