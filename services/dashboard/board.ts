import { randomUUID } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import type { Handler, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { requestDeadLetters } from '../../shared/delivery/dead-letter-requests.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { AuditActor } from '../../shared/ledger/audit-entries.ts';
import { listDeadLetters, readDeadLetter } from '../../shared/ledger/dead-letters.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { deadLetterIdOf } from '../../shared/queue/queue-names.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { boardError } from './board-error.ts';
import type { BoardAction, Role } from './board-rules.ts';
import { actionOf, mayAct } from './board-rules.ts';
import { DeadLetterAdapter } from './dead-letter-adapter.ts';
import { statedReason } from './operator-session.ts';
import { page } from './page.ts';

/** Who calls, by the request's headers, and how the trail names him. */
export type WhoCalls = (headers: Record<string, string | undefined>) => { user: string; role: Role; audit?: AuditActor };
export interface BoardSettings { engine: Engine; queue: QueueBackend; who: WhoCalls; log: Logger }

type Refusal = { allow: false; status: 403 | 409; message: string };
const refuse = (message: string, status: Refusal['status'] = 403): Refusal => ({ allow: false, status, message });

const BATCH = 500;

/** A job stands a moment longer than its dead letter. Where that was retried already, once more is harmless; in any other end there is nothing to retry. */
const isOver = (resolution: string | null): boolean => resolution !== null && resolution !== 'retried';

const asked = async ({ engine }: Pick<BoardSettings, 'engine'>, action: Exclude<BoardAction, { kind: 'read' }>, by: { user: string; reason: string; audit: AuditActor }): Promise<Refusal | undefined> => {
  const request = { action: action.kind === 'discard' ? 'discard' as const : 'retry' as const, actor: by.user, reason: by.reason, audit: by.audit };
  if (action.kind !== 'retry_all') {
    const id = deadLetterIdOf(action.jobId);
    const row = id === null ? null : await readDeadLetter(engine.db, BigInt(id));
    if (row && action.kind === 'retry' && isOver(row.resolution)) return refuse(`Nothing is left to retry: this dead letter has ended (${row.resolution}). It leaves the board by itself.`, 409);
    if (row) await requestDeadLetters(engine, [row], request);
    return undefined;
  }
  const channel = action.queue.startsWith('sms') ? 'sms' as const : 'email' as const;
  let below: bigint | undefined;
  for (;;) {
    const rows = await listDeadLetters(engine.db, { channel }, { limit: BATCH, ...(below === undefined ? {} : { below }) });
    await requestDeadLetters(engine, rows, request);
    if (rows.length < BATCH) return undefined;
    below = rows.at(-1)?.id;
  }
};

/**
 * The rule of the board, asked before every call: reading is free, dead letters are retried and discarded by an operator who said
 * why, everything else is refused for everyone. It only records what was asked; a coordinator's worker decides.
 */
export const boardRule = (settings: Omit<BoardSettings, 'log'>) => async (call: { method: string; route: string; request: { params: Record<string, unknown>; headers: Record<string, string | undefined> } }): Promise<Refusal | undefined> => {
  const { engine, who } = settings;
  const { user, role, audit } = who(call.request.headers);
  const action = actionOf({ method: call.method, route: call.route, params: call.request.params });
  if (action === null) return refuse('Not possible here. Queues follow the ledger: only dead letters can be retried or discarded, in their own queues.');
  if (!mayAct(role, action)) return refuse('Your role may look, and not retry or discard. Ask an operator.');
  if (action.kind === 'read') return undefined;
  const stated = statedReason(engine.ring, call.request.headers, { user, now: engine.now() });
  if (stated === null) return refuse('Say why first: open /reason, state a reason, and try again. It is recorded with what you do.');
  return asked(settings, action, { user, reason: stated.reason, audit: audit ?? { actor: user, role, via: 'dashboard', session: null, client: null, requestId: randomUUID() } });
};

/** The board brings styles of its own in its page, and nothing from anywhere else. */
const boardSecurity = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"], scriptSrc: ["'self'"], styleSrc: ["'self'", "'unsafe-inline'"], imgSrc: ["'self'", 'data:'], fontSrc: ["'self'", 'data:'], connectSrc: ["'self'"],
      manifestSrc: ["'self'"], baseUri: ["'self'"], formAction: ["'self'"], frameAncestors: ["'none'"],
    },
  },
  referrerPolicy: { policy: 'no-referrer' },
  strictTransportSecurity: false,
});

const isDeadLetters = (queue: string): boolean => queue.endsWith('-dead-letter');

const buildBoard = async (settings: BoardSettings, basePath: string): Promise<Handler> => {
  const queues = await settings.queue.boardQueues();
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath(basePath);
  createBullBoard({
    queues: queues.map((queue) => new (isDeadLetters(queue.name) ? DeadLetterAdapter : BullMQAdapter)(queue as never, {
      readOnlyMode: !isDeadLetters(queue.name),
      externalJobUrl: ({ data }: { data: { eventId?: string } }) => ({ displayText: 'Notification', href: data.eventId === undefined ? '/' : `/notifications/${data.eventId}` }),
    })),
    serverAdapter,
    options: {
      handlerHooks: { before: boardRule(settings) },
      uiConfig: {
        boardTitle: 'Tocsin queues', hideDocsLink: true,
        miscLinks: [{ text: 'State a reason', url: '/reason' }, { text: 'Dashboard', url: '/' }],
      },
    },
  });
  // After the board is made, which sets its own.
  serverAdapter.setErrorHandler(boardError(settings.log));
  return serverAdapter.getRouter() as Handler;
};

// The board's page asks a font service for its letters: nobody else has to know that an operator is looking.
const withoutForeignFonts = (response: Response): void => {
  const send = response.send.bind(response);
  response.send = (body: unknown) => send(typeof body === 'string' ? body.replace(/<link href="https?:[^>]*>/g, '') : body);
};

/** Bull Board over all queues, built on the first call at which the queue can be reached. */
export const board = (settings: BoardSettings, basePath: string): RequestHandler => {
  let built: Promise<Handler> | null = null;
  return (request, response, next) => {
    boardSecurity(request, response, () => {
      withoutForeignFonts(response);
      built ??= buildBoard(settings, basePath);
      built.then((handler) => handler(request, response, next), () => {
        built = null;
        response.status(503).set('Retry-After', '5').type('html').send(page('Not available for a moment', '<h1>The queue cannot be reached</h1><p>Nothing is lost by that: what is due is in the ledger. Try again in a few seconds.</p>'));
      });
    });
  };
};
