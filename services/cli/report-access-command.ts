import { readReportAccesses } from '../../shared/ledger/report-access.ts';
import type { ReportAccess } from '../../shared/ledger/report-access.ts';
import type { Command } from './command.ts';
import { eventIdOf } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { withLedger } from './ledger-session.ts';
import { Refusal } from './refusal.ts';
import { table } from './table.ts';

const LISTED = 1_000;

const ACTIONS: Record<ReportAccess['action'], string> = { page: 'the page was shown', code: 'a code was asked for', open: 'a code was tried' };

export const reportAccessCommand: Command = {
  name: 'report-access',
  summary: 'who came to the report of a notification: when, by which link, and what came of it',
  args: [{ name: 'EVENT', help: 'event id of the notification that carried the link' }],
  options: {},
  examples: [['report-access evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'each page shown, code asked for and code tried; no token, no address']],
  run: async (input, io) => {
    const eventId = eventIdOf(input);
    const read = await withLedger(io, (db) => readReportAccesses(db, eventId, LISTED + 1));
    if (read === null) throw new Refusal(`${eventId} carried no link to a report`, { code: 'not_found', field: 'EVENT', cure: 'compare the id with the receipt; a report that was attached and not linked has no accesses' });
    const accesses = read.slice(0, LISTED);
    if (input.json) {
      const shown = accesses.map(({ at, channel, action, result, artifactId }) => ({ at: at.toISOString(), link: channel, action, result, artifact: artifactId }));
      io.out.write(`${JSON.stringify({ event_id: eventId, accesses: shown, more: read.length > LISTED })}\n`);
    } else if (accesses.length === 0) io.out.write('Nobody has come to this report by a link.\n');
    else {
      io.out.write(`${table(['at', 'link by', 'what', 'outcome'], accesses.map(({ at, channel, action, result }) => [dateTime(at.getTime()), channel, ACTIONS[action], result]))}\n`
        + (read.length > LISTED ? `Only the first ${LISTED}.\n` : ''));
    }
    return 0;
  },
};
