import { CHANNELS } from '../../shared/domain/words.ts';
import type { EventId, PublicStatus } from '../../shared/domain/words.ts';
import type { Person, Roster } from '../../shared/content/roster.ts';
import { routeTicket } from '../../shared/content/roster.ts';
import type { ConsentReference } from '../../shared/delivery/accept-notification.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { findByIdempotencyKey } from '../../shared/ledger/accept-group.ts';
import { readNotification, readTicket } from '../../shared/ledger/reads.ts';
import { maskCardNumbers } from '../../shared/security/card-numbers.ts';
import { fingerprint } from '../../shared/security/fingerprint.ts';
import { generateToken } from '../../shared/security/tokens.ts';
import { publicReason, publicStatus } from '../../shared/domain/status.ts';
import type { PublicReason } from '../../shared/domain/status.ts';
import { Problem, faultyFields } from './problem.ts';
import type { TicketFields } from './ticket-fields.ts';

/** Tickets of the form belong to the deployment itself. */
export const TICKET_TENANT = 'default';

export interface TicketDesk { engine: Engine; roster: Roster; dashboardUrl: string }

export interface TicketReceipt {
  eventId: EventId; queue: string; urgency: string; status: PublicStatus; why: PublicReason | null; receivedAt: number;
  /** Opens the receipt page. */
  token: string;
  replayed: boolean;
}

/** Who is asking, and under which key; a null key makes every request a ticket of its own. */
export interface Asking { key: string | null; requestId: string }

/**
 * The stored idempotency key of a ticket: a fingerprint, since the key is scoped by the player's reference, and the row it
 * stands in can never be erased. The receipt token is another fingerprint of the same, so that a replay finds it again
 * although only its hash is stored.
 */
const keysOf = (engine: Engine, playerRef: string, key: string | null): { idempotencyKey: string; receiptToken: string } => {
  if (key === null) return { idempotencyKey: `ticket:${generateToken()}`, receiptToken: generateToken() };
  const scoped = JSON.stringify(['ticket', playerRef, key]);
  return {
    idempotencyKey: `ticket:${fingerprint(engine.ring, 'ticket-key', scoped).toString('base64url')}`,
    receiptToken: fingerprint(engine.ring, 'receipt-token', scoped).toString('base64url'),
  };
};

/** Whether a ticket came before under this key of this player; what it said is for `takeTicket` to compare. */
export const isKnownTicket = async (engine: Engine, playerRef: string, key: string | null): Promise<boolean> =>
  key !== null && await findByIdempotencyKey(engine.db, TICKET_TENANT, keysOf(engine, playerRef, key).idempotencyKey) !== null;

const consentsOf = (person: Person): ConsentReference[] =>
  CHANNELS.flatMap((channel) => person.consent[channel].map((consent) => ({ channel, ...consent })));

const routeOf = (roster: Roster, fields: TicketFields) => {
  const route = routeTicket(roster, { category: fields.category, region: fields.region, ...(fields.onCall === null ? {} : { onCall: fields.onCall }) });
  if (route.kind === 'routed') return route;
  const field = route.kind === 'unknown_category' ? 'category' : 'on_call';
  throw faultyFields([{ field, problem: 'is not known', cure: `use one of ${route.known.join(', ')}` }], route.kind);
};

const replayOf = async (engine: Engine, eventId: EventId, token: string): Promise<TicketReceipt> => {
  const [ticket, notification] = await Promise.all([readTicket(engine.db, { eventId }), readNotification(engine.db, { eventId })]);
  if (!ticket || !notification) throw new Error('a replayed ticket is not in the ledger');
  const { state } = notification.current;
  return { eventId, queue: ticket.queue, urgency: ticket.urgency, status: publicStatus(state), why: publicReason(state), receivedAt: ticket.receivedAt.getTime(), token, replayed: true };
};

/**
 * Takes a ticket in: routes it to its queue and the one current on-call, and accepts the notification that it causes.
 * @throws Problem 409 where the key came before with another ticket; 400 for a category or person the roster lacks.
 */
export const takeTicket = async ({ engine, roster, dashboardUrl }: TicketDesk, fields: TicketFields, asking: Asking): Promise<TicketReceipt> => {
  const route = routeOf(roster, fields);
  const { person, queue, urgency } = route;
  const { idempotencyKey, receiptToken } = keysOf(engine, fields.playerRef, asking.key);
  const { category, region, locale, message, playerRef, contact } = fields;
  const receivedAt = new Date(engine.now()).toISOString();
  const outcome = await acceptNotification(engine, {
    tenant: TICKET_TENANT, idempotencyKey, purpose: route.purpose, expiresAt: null, artifacts: [], requestId: asking.requestId, actor: 'form',
    fingerprintOf: { category, message, region, locale, player_ref: playerRef, contact, on_call: fields.onCall },
    recipient: { ref: person.id, sms: person.sms, email: person.email, region, locale: person.locale, timeZone: person.timeZone, consent: consentsOf(person) },
    // A card number stays in the sealed ticket: mail goes through many hands.
    variables: (eventId) => ({ category, queue, region, locale, player_ref: playerRef, message: maskCardNumbers(message), received_at: receivedAt, ticket_url: `${dashboardUrl}/tickets/${eventId}` }),
    ticket: { category, region, locale, queue, urgency, sealed: { message, playerRef, contact }, receiptToken },
  });
  switch (outcome.kind) {
    case 'accepted': return { eventId: outcome.eventId, queue, urgency, status: outcome.status, why: outcome.why, receivedAt: outcome.receivedAt, token: receiptToken, replayed: false };
    case 'replayed': return replayOf(engine, outcome.eventId, receiptToken);
    case 'conflict': throw new Problem({ status: 409, code: 'idempotency_key_reused', detail: 'This key came before with another ticket, which stands. Send a new ticket under a new key.' });
    case 'unknown_purpose': throw new Error(`the roster names purpose ${route.purpose}, which has no active policy`);
    case 'not_renderable':
    case 'expiry_too_short': throw new Error(`policy ${route.purpose} expires sooner than its own steps need`);
  }
};
