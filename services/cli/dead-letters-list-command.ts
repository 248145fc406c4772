import type { DeadLetterDetails, DeadLetterRecord } from '../../shared/ledger/dead-letters.ts';
import { countDeadLetters, listDeadLetters, readDeadLetter } from '../../shared/ledger/dead-letters.ts';
import type { Command } from './command.ts';
import { deadLetterId, filterOf, foreseen, SELECTION } from './dead-letter-selection.ts';
import { dateTime } from './entry-lines.ts';
import { nothingFound } from './nothing-found.ts';
import { withEngine } from './operator-engine.ts';
import { Refusal } from './refusal.ts';
import { table } from './table.ts';
import { wholeNumber } from './whole-number.ts';

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

const jsonOf = (row: DeadLetterRecord, refusal: string | null) => ({
  id: String(row.id), channel: row.channel, reason: row.reason, event_id: row.eventId, attempt_key: row.attemptKey, created_at: iso(row.createdAt),
  retry: refusal === null ? 'possible' : 'refused', refusal,
});

const LIMIT = 50;

export const deadLettersListCommand: Command = {
  name: 'dead-letters list',
  summary: 'list the dead letters that wait for an operator, newest first',
  args: [],
  options: { ...SELECTION, limit: { value: 'N', help: `how many at most (default: ${LIMIT})` } },
  examples: [
    ['dead-letters list', 'what stopped, why, and whether a retry is possible now'],
    ['dead-letters list --channel sms --since 2h --cause provider_auth --json', 'those of one cause, for a program'],
  ],
  run: (input, io) => withEngine(io, async (engine) => {
    const filter = filterOf(input, engine.now());
    const [rows, total] = await Promise.all([listDeadLetters(engine.db, filter, { limit: wholeNumber(input, 'limit', 1_000) ?? LIMIT }), countDeadLetters(engine.db, filter)]);
    const refusals = await foreseen(engine, rows);
    if (input.json) {
      io.out.write(`${JSON.stringify({ total, dead_letters: rows.map((row, index) => jsonOf(row, refusals[index] ?? null)) })}\n`);
      return 0;
    }
    if (rows.length === 0) {
      io.out.write(nothingFound(input, Object.keys(SELECTION), { none: 'No dead letter waits.', found: 'open dead letter' }));
      return 0;
    }
    io.out.write(`${table(['id', 'channel', 'reason', 'since (UTC)', 'notification', 'a retry now'], rows.map((row, index) => [
      String(row.id), row.channel, row.reason, dateTime(row.createdAt.getTime()), row.eventId, refusals[index] === null ? 'possible' : `refused: ${refusals[index]}`,
    ]))}\n${total > rows.length ? `\n${total - rows.length} more; see them with --limit.\n` : ''}`);
    return 0;
  }),
};

/** A sentence stands as `other` wherever it is shown in clear; whoever may know it reads it behind the dashboard's login. */
const sealedNote = (row: DeadLetterDetails): string[] => (row.requests.some(({ reason }) => reason === 'other')
  ? [`"other" also stands for a sentence, which is sealed; of what was retried or discarded the dashboard shows it: /notifications/${row.eventId}`] : []);

const requestLine = (request: DeadLetterDetails['requests'][number]): string[] => [
  dateTime(request.requestedAt.getTime()), request.action, request.actor, request.reason, request.result ?? 'waits', request.handledAt === null ? '' : dateTime(request.handledAt.getTime()),
];

export const deadLettersShowCommand: Command = {
  name: 'dead-letters show',
  summary: 'show one dead letter, and everything that was asked about it',
  args: [{ name: 'ID', help: 'number of the dead letter, as `dead-letters list` shows it' }],
  options: {},
  examples: [['dead-letters show 12', 'why it stopped, who asked for what, and what came of it']],
  run: (input, io) => withEngine(io, async (engine) => {
    const row = await readDeadLetter(engine.db, deadLetterId(input.args[0] ?? ''));
    if (!row) throw new Refusal('there is no dead letter with that number', { code: 'not_found', field: 'ID', cure: 'see `npx tocsin dead-letters list`' });
    const [refusal = null] = row.resolvedAt === null ? await foreseen(engine, [row]) : [];
    if (input.json) {
      const requests = row.requests.map((one) => ({ action: one.action, actor: one.actor, reason: one.reason, even_if_delivered: one.evenIfDelivered, accept_duplicate: one.acceptDuplicate, requested_at: iso(one.requestedAt), handled_at: iso(one.handledAt), result: one.result }));
      io.out.write(`${JSON.stringify({ ...jsonOf(row, refusal), resolved_at: iso(row.resolvedAt), resolution: row.resolution, requests })}\n`);
      return 0;
    }
    const state = row.resolvedAt === null ? `open; a retry now is ${refusal === null ? 'possible' : `refused: ${refusal}`}` : `${row.resolution} at ${dateTime(row.resolvedAt.getTime())}`;
    io.out.write(`${[
      `dead letter   ${row.id}`, `attempt       ${row.attemptKey}`, `reason        ${row.reason}`, `since         ${dateTime(row.createdAt.getTime())}`, `state         ${state}`,
      ...(row.requests.length === 0 ? [] : ['', table(['asked', 'for', 'by', 'reason', 'result', 'done'], row.requests.map(requestLine))]),
      ...sealedNote(row), '', `npx tocsin show ${row.eventId}`,
    ].join('\n')}\n`);
    return 0;
  }),
};
