import { closeAs } from '../../shared/delivery/audited.ts';
import type { OperatorAct } from '../../shared/delivery/audited.ts';
import type { CloseOutcome } from '../../shared/delivery/close-notification.ts';
import { CLOSE_CODES } from '../../shared/delivery/close-notification.ts';
import type { Command } from './command.ts';
import { eventIdOf } from './command.ts';
import { dateTime } from './entry-lines.ts';
import type { Io } from './io.ts';
import { notFound } from './ledger-session.ts';
import { actorOf, auditOf, withEngine } from './operator-engine.ts';
import { reasonOf } from './reason-option.ts';
import { Refusal } from './refusal.ts';

const close = (io: Io, act: OperatorAct): Promise<CloseOutcome> => withEngine(io, (engine) => closeAs(engine, act));

const IN_FLIGHT = 'A call to the provider was in flight at that instant: that message may still arrive.';

const told = (outcome: Extract<CloseOutcome, { kind: 'closed' }>): string => [
  outcome.replayed ? `It had been closed already, at ${dateTime(outcome.closedAt)}; that reason stands: ${outcome.reason}.` : `Closed at ${dateTime(outcome.closedAt)}, reason: ${outcome.reason}. Nothing is submitted any more.`,
  `Status: ${outcome.status}.`,
  ...(outcome.inFlight ? [IN_FLIGHT] : []),
].join('\n');

export const closeCommand: Command = {
  name: 'close',
  summary: 'close a notification: nothing is submitted any more',
  args: [{ name: 'EVENT', help: 'event id, as the receipt says' }],
  options: {
    reason: { value: 'R', help: `one of ${[...CLOSE_CODES].join(', ')}, or a sentence, which is kept sealed` },
    actor: { value: 'A', help: 'who closes it: a name or role, as the ledger will say (default: cli)' },
  },
  examples: [
    ['close evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason taken --actor oncall-03', 'somebody is on it'],
    ['close evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason cancelled --json', 'for programs'],
  ],
  run: async (input, io) => {
    const eventId = eventIdOf(input);
    const actor = actorOf(input);
    const outcome = await close(io, { eventId, reason: reasonOf(input), actor, audit: auditOf(input) });
    if (outcome.kind === 'not_found') throw notFound(eventId);
    if (outcome.kind === 'not_open') {
      throw new Refusal(`there is nothing to close: the notification is ${outcome.status}`, { code: 'not_open', field: 'EVENT', cure: `see why with \`npx tocsin explain ${eventId}\`` });
    }
    if (input.json) {
      io.out.write(`${JSON.stringify({ event_id: eventId, status: outcome.status, reason: outcome.reason, closed_at: new Date(outcome.closedAt).toISOString(), in_flight: outcome.inFlight, replayed: outcome.replayed })}\n`);
    } else io.out.write(`${told(outcome)}\n`);
    return 0;
  },
};
