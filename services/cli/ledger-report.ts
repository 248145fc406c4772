import type { Fault, Faults } from '../../shared/ledger/verify-fault.ts';
import type { PublicKey } from '../../shared/security/signing-key.ts';
import { dateTime } from './entry-lines.ts';

/** What a verification went through, and what it found. */
export interface VerifyReport {
  scope: string;
  notifications: number;
  entries: number;
  checkpoints: number;
  lastMinuteAt: number | null;
  /** Entries that no checkpoint covers yet; null where that is not known, or not asked. */
  youngerEntries: number | null;
  publicKeys: readonly PublicKey[] | null;
  notes: string[];
  faults: Faults;
}

const SHOWN = 100;

/** `evt_… version 3, column body`. */
export const placeOf = (fault: Fault): string => [
  fault.eventId, fault.version === null ? null : `version ${fault.version}`, fault.eventId === null && fault.checkpoint !== null ? `checkpoint ${fault.checkpoint}` : null, fault.column,
].filter((part) => part !== null).join(' ');

const many = (count: number, one: string): string => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`;

const coverage = (report: VerifyReport): string => {
  if (report.checkpoints === 0) return 'No checkpoint has been made yet: a chain that was recomputed as a whole would not be seen.';
  const last = report.lastMinuteAt === null ? '' : `, the last of ${dateTime(report.lastMinuteAt)}`;
  const younger = report.youngerEntries === null || report.youngerEntries === 0 ? '' : `; ${report.youngerEntries === 1 ? '1 entry is' : `${report.youngerEntries.toLocaleString('en')} entries are`} younger, and held by ${report.youngerEntries === 1 ? 'its' : 'their'} own chain alone`;
  return `Held against ${many(report.checkpoints, 'checkpoint')}${last}${younger}.`;
};

/** The report for people. */
export const reportText = (report: VerifyReport): string => {
  const { faults } = report;
  const lines = [`Checked ${report.scope}: ${many(report.notifications, 'notification')}, ${many(report.entries, 'entry').replace('entrys', 'entries')}.`, coverage(report), ...report.notes.map((note) => `Note: ${note}.`)];
  if (faults.count() === 0) return `${lines.join('\n')}\nNothing was changed, removed or added.\n`;
  const shown = faults.list.slice(0, SHOWN).map((fault) => `✗ ${placeOf(fault)}: ${fault.text}`);
  const rest = faults.count() > shown.length ? [`… and ${(faults.count() - shown.length).toLocaleString('en')} more (--json lists the first 1,000)`] : [];
  return `${[...lines, '', ...shown, ...rest, '', `${many(faults.count(), 'fault')} found.`].join('\n')}\n`;
};

/** The report for programs. */
export const reportJson = (report: VerifyReport): string => JSON.stringify({
  ok: report.faults.count() === 0, notifications: report.notifications, entries: report.entries, checkpoints: report.checkpoints,
  last_checkpoint_at: report.lastMinuteAt === null ? null : new Date(report.lastMinuteAt).toISOString(), younger_entries: report.youngerEntries,
  signatures_checked: report.publicKeys !== null, public_keys: report.publicKeys?.map((key) => key.text) ?? [], notes: report.notes,
  fault_count: report.faults.count(),
  faults: report.faults.list.map((fault) => ({ place: placeOf(fault), event_id: fault.eventId, version: fault.version, checkpoint: fault.checkpoint, column: fault.column, text: fault.text })),
});
