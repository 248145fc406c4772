import { PROVIDERS } from '../../shared/transports/carriers.ts';
import { HTTP_ERRORS } from '../../shared/transports/http/error-meaning.ts';
import { RESEND_ERRORS, RESEND_HTTP_ERRORS } from '../../shared/transports/resend/error-table.ts';
import { RESEND_EVENTS } from '../../shared/transports/resend/status-table.ts';
import { SINCH_ERRORS, SINCH_HTTP_ERRORS } from '../../shared/transports/sinch/error-table.ts';
import { SINCH_STATUSES } from '../../shared/transports/sinch/status-table.ts';
import { SMTP_ERRORS } from '../../shared/transports/smtp/error-table.ts';
import { REPORT_ROWS } from '../../shared/transports/smtp/report-table.ts';
import { TWILIO_ERRORS } from '../../shared/transports/twilio/error-table.ts';
import { TWILIO_STATUSES } from '../../shared/transports/twilio/status-table.ts';

type Cell = string | null | undefined;
const code = (text: Cell): string => (text === null || text === undefined ? '' : `\`${text}\``);
const line = (cells: readonly string[]): string => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');

type Statuses = Readonly<Record<string, { outcome: string; reason: string | null } | null>>;
const statuses = (said: string, rows: Statuses): string =>
  table([said, 'Outcome', 'Reason'], Object.entries(rows).map(([word, row]) => [code(word), row?.outcome ?? 'no answer about a message of ours', code(row?.reason)]));

type Errors = Readonly<Record<string | number, { class: string; reason: string }>>;
const errors = (...tables: readonly [prefix: string, rows: Errors][]): string =>
  table(['Error', 'Class', 'Reason'], tables.flatMap(([prefix, rows]) => Object.entries(rows).map(([name, row]) => [code(`${prefix}${name}`), row.class, code(row.reason)])));

const hours = (ms: number | undefined): string => (ms === undefined ? '' : ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 1_000} s`);

/** The tables of docs/providers.md by their headings, of the code that goes by them. */
export const providerTables = (): Record<string, string> => ({
  'What each declares': table(['Adapter', 'Dedup', 'Reconcile', 'A key is known for', 'A message may stay unseen for', 'Evidence', 'Status by poll'], Object.values(PROVIDERS).map(({ name, capabilities: { dedup, reconcile, replayWithinMs, visibleAfterMs, evidence, statusByPoll } }) =>
    [code(name), dedup, reconcile, hours(replayWithinMs), hours(visibleAfterMs), evidence, statusByPoll ? 'yes' : 'no'])),
  'Status mapping: Twilio': statuses('`status`', TWILIO_STATUSES),
  'Status mapping: Sinch': statuses('`status`', SINCH_STATUSES),
  'Status mapping: Resend': statuses('`last_event`', RESEND_EVENTS),
  'Status mapping: delivery reports': table(['Action', 'Status', 'Outcome', 'Reason'], REPORT_ROWS.map(({ action, status, outcome, reason }) => [code(action), code(status), outcome, code(reason)])),
  'Errors: HTTP': errors(['', HTTP_ERRORS]),
  'Errors: Twilio': errors(['', TWILIO_ERRORS]),
  'Errors: Sinch': errors(['', SINCH_ERRORS], ['HTTP ', SINCH_HTTP_ERRORS]),
  'Errors: Resend': errors(['', RESEND_ERRORS], ['HTTP ', RESEND_HTTP_ERRORS]),
  'Errors: SMTP': table(['Reply', 'Enhanced', 'Command', 'Class', 'Reason'], SMTP_ERRORS.map((row) => [code(row.code), code(row.enhanced), code(row.command?.toUpperCase()), row.class, code(row.reason)])),
});
