import { pauseAs, resumeAs } from '../../shared/delivery/audited.ts';
import type { PauseOutcome, ResumeOutcome } from '../../shared/delivery/pause-notification.ts';
import type { Command, Input } from './command.ts';
import { eventIdOf } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { notFound } from './ledger-session.ts';
import { actorOf, auditOf, withEngine } from './operator-engine.ts';
import { reasonOf } from './reason-option.ts';
import { Refusal } from './refusal.ts';

const IN_FLIGHT = 'A call to the provider was in flight at that instant: that message may still arrive.';

const common = {
  args: [{ name: 'EVENT', help: 'event id, as the receipt says' }],
  options: {
    reason: { value: 'R', help: 'a code (maintenance, wrong_person, done, …), or a sentence, which is kept sealed' },
    actor: { value: 'A', help: 'who does it: a name or role, as the ledger will say (default: cli)' },
  },
};

const requestOf = (input: Input) => ({ eventId: eventIdOf(input), actor: actorOf(input), reason: reasonOf(input), audit: auditOf(input) });

const notOpen = (eventId: string, status: string, to: string): Refusal =>
  new Refusal(`there is nothing to ${to}: the notification is ${status}`, { code: 'not_open', field: 'EVENT', cure: `see why with \`npx tocsin explain ${eventId}\`` });

const toldPaused = (outcome: Extract<PauseOutcome, { kind: 'paused' }>): string => [
  outcome.replayed ? `It had been paused already, at ${dateTime(outcome.pausedAt)}; that reason stands: ${outcome.reason}.`
    : `Paused at ${dateTime(outcome.pausedAt)}, reason: ${outcome.reason}. Nothing is started until it is resumed; status reads and expiry go on.`,
  `Status: ${outcome.status}.`,
  ...(outcome.inFlight ? [IN_FLIGHT] : []),
].join('\n');

const toldResumed = (outcome: Extract<ResumeOutcome, { kind: 'resumed' }>): string =>
  `${outcome.replayed ? 'It was not paused.' : 'Resumed. What fell due meanwhile is decided within a second.'}\nStatus: ${outcome.status}.`;

export const pauseCommand: Command = {
  name: 'pause',
  summary: 'pause a notification: nothing is started until it is resumed',
  ...common,
  examples: [
    ['pause evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason wrong_person --actor oncall-03', 'somebody must look at it first'],
    ['pause evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason maintenance --json', 'for programs'],
  ],
  run: async (input, io) => {
    const request = requestOf(input);
    const outcome = await withEngine(io, (engine) => pauseAs(engine, request));
    if (outcome.kind === 'not_found') throw notFound(request.eventId);
    if (outcome.kind === 'not_open') throw notOpen(request.eventId, outcome.status, 'pause');
    io.out.write(input.json
      ? `${JSON.stringify({ event_id: request.eventId, status: outcome.status, paused: true, reason: outcome.reason, paused_at: new Date(outcome.pausedAt).toISOString(), in_flight: outcome.inFlight, replayed: outcome.replayed })}\n`
      : `${toldPaused(outcome)}\n`);
    return 0;
  },
};

export const resumeCommand: Command = {
  name: 'resume',
  summary: 'resume a paused notification: what fell due meanwhile is decided now',
  ...common,
  examples: [
    ['resume evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason checked --actor oncall-03', 'it may go on'],
    ['resume evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason done --json', 'for programs'],
  ],
  run: async (input, io) => {
    const request = requestOf(input);
    const outcome = await withEngine(io, (engine) => resumeAs(engine, { ...request, leaveRest: true }));
    if (outcome.kind === 'not_found') throw notFound(request.eventId);
    if (outcome.kind === 'not_open') throw notOpen(request.eventId, outcome.status, 'resume');
    io.out.write(input.json ? `${JSON.stringify({ event_id: request.eventId, status: outcome.status, paused: false, replayed: outcome.replayed })}\n` : `${toldResumed(outcome)}\n`);
    return 0;
  },
};
