import { readCliConfig, readSender } from '../../shared/config/cli-config.ts';
import { renderAgain } from '../../shared/delivery/render-again.ts';
import { createVersionStore } from '../../shared/delivery/versions.ts';
import type { DeadLetterOf } from '../../shared/ledger/dead-letters.ts';
import { readDeadLettersOf } from '../../shared/ledger/dead-letters.ts';
import type { LostRaceRecord } from '../../shared/ledger/lost-races.ts';
import { readLostRaces } from '../../shared/ledger/lost-races.ts';
import { readEntries, readNotification } from '../../shared/ledger/reads.ts';
import type { Command, Input } from './command.ts';
import type { Io } from './io.ts';
import { messageJson, messageLines } from './message-lines.ts';
import { withEngine } from './operator-engine.ts';
import { eventIdOf } from './command.ts';
import { ENTRY_HEAD, dateTime, entryJson, entryRow, shortAttempt } from './entry-lines.ts';
import type { Entry } from './ledger-session.ts';
import { notFound, toEntry, withLedger } from './ledger-session.ts';
import type { NotificationView } from '../../shared/delivery/notification-view.ts';
import { notificationView } from '../../shared/delivery/notification-view.ts';
import { table } from './table.ts';

const time = (iso: string | null): string => (iso === null ? '-' : iso.slice(11, 23));
const day = (iso: string | null): string => (iso === null ? '-' : dateTime(Date.parse(iso)));

/** The status, and why where nothing was sent: once where all channels share it. */
const statusText = ({ status, reason, skipped = [] }: NotificationView): string => {
  if (reason === undefined) return status;
  const differ = skipped.some((one) => one.reason !== reason);
  return `${status} (${differ ? skipped.map((one) => `${one.channel}: ${one.reason}`).join(', ') : reason})`;
};

const facts = (view: NotificationView): string => {
  const rows: [string, string][] = [
    ['notification', view.event_id], ['status', statusText(view)], ['purpose', view.purpose], ['policy', `${view.policy.purpose}/${view.policy.version}`],
    ['requested', day(view.requested_at)], ['expires', day(view.expires_at)],
    ...(view.erased_at === undefined ? [] : [['erased', day(view.erased_at)] as [string, string]]),
    ...(view.closed ? [['closed', `${day(view.closed.at)} (${view.closed.reason})`] as [string, string]] : []),
  ];
  return rows.map(([name, value]) => `${name.padEnd(13)} ${value}`).join('\n');
};

const attempts = (view: NotificationView, width: number): string => (view.attempts.length === 0 ? 'No attempt was planned.' : table(
  ['attempt', 'outcome', 'reason', 'planned', 'submitted', 'settled', 'deadline'],
  view.attempts.map((one) => [
    `${one.channel}.${one.sequence}`, one.outcome, one.reason ?? '-', time(one.planned_at), time(one.submitted_at), time(one.settled_at), time(one.decision_deadline_at),
  ]), width));

/** Who decided on a version that another took first, and then had nothing more to append: no entry tells of them. */
const lostRaces = (races: readonly LostRaceRecord[], width: number): string[] => (races.length === 0 ? [] : [
  `Decided too late, and then found nothing left to do:\n${table(['at', 'by', 'decided on', 'found'], races.map((one) => [dateTime(one.at), one.actor, `version ${one.decidedOn}`, `version ${one.found}`]), width)}`,
]);

/** A discard, and an expiry after everything had settled, are no entries. */
const deadLetters = (letters: readonly DeadLetterOf[], width: number): string[] => (letters.length === 0 ? [] : [
  `Dead letters:\n${table(['attempt', 'ended', 'at', 'by', 'reason'], letters.map(({ attemptKey, end, discard }) => [
    shortAttempt(attemptKey), end?.as ?? 'waits for an operator', end === null ? '-' : dateTime(end.at), discard?.actor ?? '-', discard?.reason ?? '-',
  ]), width)}`,
]);

const deadLetterJson = ({ attemptKey, end, discard }: DeadLetterOf) =>
  ({ attempt_key: attemptKey, resolution: end?.as ?? null, resolved_at: end === null ? null : new Date(end.at).toISOString(), discarded_by: discard?.actor ?? null, reason: discard?.reason ?? null });

interface Beside { entries: Entry[]; letters: DeadLetterOf[]; races: LostRaceRecord[] }

const page = (view: NotificationView, { entries, letters, races }: Beside, width: number): string =>
  [facts(view), attempts(view, width), table(ENTRY_HEAD, entries.map(entryRow), width), ...deadLetters(letters, width), ...lostRaces(races, width), `Why: npx tocsin explain ${view.event_id}`].join('\n\n');

const raceJson = ({ at, actor, requestId, decidedOn, found }: LostRaceRecord) => ({ at: new Date(at).toISOString(), actor, request_id: requestId, decided_on: decidedOn, found });

/** Exit code 1 where a message comes out otherwise than it was planned: somebody has to look. */
const showMessages = async (eventId: string, input: Input, io: Io): Promise<number> => {
  const known = readSender(io.env, readCliConfig(io.env));
  const sender = { sms: input.text('sms-from') ?? known.sms ?? '', email: input.text('mail-from') ?? known.email ?? '' };
  const found = await withEngine(io, (engine) => renderAgain(engine, eventId, [sender]));
  if (!found) throw notFound(eventId);
  io.out.write(input.json ? `${JSON.stringify({ event_id: eventId, messages: found.map(messageJson) })}\n` : messageLines(found, input.flag('unmasked')));
  return found.some(({ verdict }) => verdict === 'differs') ? 1 : 0;
};

export const showCommand: Command = {
  name: 'show',
  summary: 'what is known of a notification: status, attempts and every entry of its ledger',
  args: [{ name: 'EVENT', help: 'event id, as the receipt says' }],
  options: {
    message: { help: 'instead, each attempt\'s exact message, made again from what is sealed, and whether the hash in the ledger matches' },
    unmasked: { help: 'with --message: the whole address; else it is masked. --json gives the message as a provider gets it, address and all' },
    'sms-from': { value: 'S', help: 'with --message: a sender of SMS to try beside that of the acceptance (default: TWILIO_FROM or SINCH_FROM)' },
    'mail-from': { value: 'S', help: 'with --message: a sender of email to try beside that of the acceptance (default: MAIL_FROM)' },
  },
  examples: [
    ['show evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'tables for people'],
    ['show evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --json', 'the public view, with the entries, the dead letters and the lost races'],
    ['show evt_01ARZ3NDEKTSV4RRFFQ69G5FAV --message', 'what was sent, word for word; it shows secrets that are still kept'],
  ],
  run: async (input, io) => {
    const eventId = eventIdOf(input);
    if (input.flag('message')) return showMessages(eventId, input, io);
    return withLedger(io, async (db) => {
      const record = await readNotification(db, { eventId });
      if (!record) throw notFound(eventId);
      const versions = createVersionStore(db, () => performance.now());
      const view = notificationView(record, await versions.bind(record.purpose, record.policyVersion));
      // Read after the record, so there may be newer ones: view and entries must be of the same instant.
      const entries = (await readEntries(db, eventId)).map(toEntry).filter((entry) => entry.version <= record.current.version);
      const letters = await readDeadLettersOf(db, record.current.state);
      const races = await readLostRaces(db, eventId);
      if (input.json) io.out.write(`${JSON.stringify({ ...view, entries: entries.map((entry) => entryJson(eventId, entry)), dead_letters: letters.map(deadLetterJson), lost_races: races.map(raceJson) })}\n`);
      else io.out.write(`${page(view, { entries, letters, races }, io.out.isTTY ? io.out.columns() : Number.POSITIVE_INFINITY)}\n`);
      return 0;
    });
  },
};
