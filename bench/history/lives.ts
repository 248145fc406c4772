import { createHash, randomBytes } from 'node:crypto';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { pollAttempt } from '../../shared/delivery/poll-attempt.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import type { StatusReading } from '../../shared/domain/provider-answers.ts';
import { PROVIDERS } from '../../shared/transports/carriers.ts';
import type { Transport } from '../../shared/transports/transport.ts';

/** How a notification fares: its SMS is delivered at the first read, comes back undelivered, or is never confirmed. */
export type Ending = 'delivered' | 'undelivered' | 'unconfirmed';

const READINGS: Record<Ending, StatusReading> = {
  delivered: { kind: 'observed', outcome: 'delivered', reason: null, raw: { httpStatus: 200, text: 'delivered' } },
  undelivered: { kind: 'observed', outcome: 'undelivered', reason: 'carrier_failed', raw: { httpStatus: 200, code: '30003', text: 'undelivered' } },
  unconfirmed: { kind: 'observed', outcome: 'accepted', reason: null, raw: { httpStatus: 200, text: 'sent' } },
};

/** The id that the SMS stand-in gives to the message of an attempt; the bulk load makes it of its copies' keys in SQL. */
export const smsIdOf = (attemptKey: string): string => `SM${createHash('md5').update(attemptKey).digest('hex')}`;

/** An SMS provider that takes everything at once and answers each status read as the ending has it. */
export const smsCarrier = (ending: Ending): Transport => ({
  name: 'twilio', channel: 'sms', capabilities: PROVIDERS.twilio.capabilities, close: async () => undefined,
  submit: async ({ attemptKey }) => ({ kind: 'accepted', providerMessageId: smsIdOf(attemptKey), raw: { httpStatus: 201, text: 'queued' } }),
  readStatus: async () => READINGS[ending],
});

const carriers = (ending: Ending): Transport[] => [
  smsCarrier(ending),
  {
    name: 'smtp', channel: 'email', capabilities: PROVIDERS.smtp.capabilities, close: async () => undefined,
    submit: async ({ attemptKey }) => ({ kind: 'accepted', providerMessageId: `<${attemptKey}@example.com>`, raw: { httpStatus: 250, text: 'ok' } }),
  },
];

/** So that two runs on one database never ask under one key. */
const RUN = randomBytes(6).toString('hex');
let accepted = 0;
/** A ticket like those of the form, each of a key and a person of its own. */
export const ticketRequest = (run: string): AcceptRequest => {
  accepted += 1;
  const key = `${run}-${RUN}-${accepted}`;
  return {
    tenant: 'default', idempotencyKey: `ticket:${createHash('sha256').update(key).digest('base64url')}`, fingerprintOf: { key }, purpose: 'game-support-urgent',
    recipient: {
      ref: `person-${key}`, sms: '+12025550101', email: 'name+01@example.com', region: 'US', locale: 'en', timeZone: 'America/New_York',
      consent: [{ channel: 'sms', basis: 'on_call_duty', reference: 'duty/1' }, { channel: 'email', basis: 'on_call_duty', reference: 'duty/1' }],
    },
    variables: (eventId) => ({
      category: 'payment_lockout', queue: 'payments-urgent', region: 'US', locale: 'en-US', player_ref: 'p-1', message: 'Charged twice and locked out of my account since this morning.',
      received_at: '2026-01-01T00:00:00Z', ticket_url: `http://127.0.0.1:3001/tickets/${eventId}`,
    }),
    expiresAt: null, artifacts: [], requestId: `req-${accepted}`, actor: 'form',
    ticket: {
      category: 'payment_lockout', region: 'US', locale: 'en-US', queue: 'payments-urgent', urgency: 'urgent', receiptToken: `receipt-${key}`,
      sealed: { message: 'Charged twice and locked out of my account since this morning.', playerRef: 'p-1', contact: { sms: null, email: null } },
    },
  };
};

/** An engine whose clock the caller moves. */
export interface ClockedEngine { engine: Engine; moveTo: (at: number) => void }

/**
 * Lives one notification through the product's own code, with providers that answer at once, moving the clock from one due
 * instant to the next until `until`. Nothing else may be due in that database meanwhile. Resolves to its event id.
 */
export const live = async ({ engine, moveTo }: ClockedEngine, ending: Ending, until: number): Promise<string> => {
  const outcome = await acceptNotification(engine, ticketRequest(`life-${ending}`));
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${outcome.kind}`);
  const transports = carriers(ending);
  const byName = new Map<string, Transport>(transports.map((transport) => [transport.name, transport]));
  const perform = async (): Promise<void> => {
    const keys: string[] = [];
    await engine.ledger.moveOutbox(100, async (rows) => { keys.push(...rows.map((row) => row.attemptKey)); });
    for (const key of keys) {
      const transport = transports.find((one) => key.includes(`.${one.channel}.`)) as Transport;
      await performAttempt(engine, key as never, { transport, submitStartWithinMs: 2_000, actor: `delivery-${transport.channel}` });
    }
  };
  await perform();
  for (;;) {
    const due = await engine.ledger.nextDueAt(engine.now());
    if (due === null || due > until) return outcome.eventId;
    // Overdue already: held back by the pace of status reads, which comes back with time.
    moveTo(due > engine.now() ? due : engine.now() + 100);
    await sweepDecisions(engine, 'coordinator');
    const polls = await engine.ledger.leaseDuePolls({ now: engine.now(), leaseUntil: engine.now() + 25_000, limit: 100 });
    for (const { attemptKey } of polls) await pollAttempt(engine, attemptKey as never, { transports: byName, actor: 'coordinator' });
    await perform();
  }
};
