import { evolve } from '../domain/evolve.ts';
import type { NotificationState } from '../domain/state.ts';
import { emptyState } from '../domain/state.ts';
import type { Transition } from '../domain/transitions.ts';
import { chainHash } from '../security/chain-hash.ts';
import type { Faults } from './verify-fault.ts';
import { firstDifference } from './verify-fault.ts';

/** An entry to be checked. Of an export only the text and its hash are known, and the columns are null. */
export interface EntryRow {
  event_id: string; version: number; position: string; body: string; hash: Buffer;
  columns: { kind: string; at: Date; actor: string; request_id: string; policy_version: number; attempt_key: string | null; from_state: string | null; to_state: string; prev_hash: Buffer } | null;
}

interface Body { event_id: string; version: number; kind: string; at: number; actor: string; request_id: string; policy_version: number; from: string | null; to: string; details: Record<string, unknown> }
export interface PlannedTemplate { template: unknown; template_version: unknown }

/** What the entries of one event add up to. */
export interface Folded { version: number; hash: Buffer | null; state: NotificationState | null; templates: Map<string, PlannedTemplate> }

export interface EventCheck {
  entry: (row: EntryRow) => void;
  end: () => Folded;
}

const parseBody = (text: string): Body | null => {
  try {
    const body = JSON.parse(text) as Body;
    return typeof body === 'object' && body !== null && typeof body.details === 'object' && body.details !== null ? body : null;
  } catch {
    return null;
  }
};

/** Each column beside the text, with what the text says. */
const inBody = (body: Body): Record<string, unknown> => ({
  kind: body.kind, at: body.at, actor: body.actor, request_id: body.request_id, policy_version: body.policy_version,
  attempt_key: body.details['attempt'] ?? null, from_state: body.from, to_state: body.to,
});

const checkColumns = (row: EntryRow, body: Body, faults: Faults): void => {
  const at = { eventId: row.event_id, version: row.version };
  if (body.event_id !== row.event_id) faults.add(at, 'event_id', 'is not the one in the entry\'s text');
  if (body.version !== row.version) faults.add(at, 'version', 'is not the one in the entry\'s text');
  if (row.columns === null) return;
  const columns: Record<string, unknown> = { ...row.columns, at: row.columns.at.getTime() };
  for (const [column, value] of Object.entries(inBody(body))) {
    if (firstDifference(columns[column], value) !== null) faults.add(at, column, 'is not what the entry\'s text says');
  }
};

/** Checks the entries of one event as they come, in the order of their versions. `intentHash` is null where there is no intent. */
export const checkEvent = (eventId: string, intentHash: Buffer | null, faults: Faults): EventCheck => {
  let version = 0;
  let previous = intentHash;
  let state: NotificationState | null = emptyState(eventId);
  const templates = new Map<string, PlannedTemplate>();

  const checkChain = (row: EntryRow, gap: boolean): void => {
    const at = { eventId, version: row.version };
    const claimed = row.columns?.prev_hash ?? previous;
    const linked = gap || previous === null || claimed === null || claimed.equals(previous);
    if (linked && (claimed === null || chainHash(claimed, row.body).equals(row.hash))) return;
    if (previous !== null && !gap && chainHash(previous, row.body).equals(row.hash)) faults.add(at, 'prev_hash', 'is not the hash of the entry before');
    else if (!linked) faults.add(at, 'prev_hash', row.version === 1 ? 'the chain does not begin at this intent: intent or entry was changed' : `the chain is broken: version ${row.version - 1} is not the entry that this one followed`);
    else faults.add(at, 'body', 'its hash does not cover this text: body or hash was changed');
  };
  const fold = (row: EntryRow, body: Body): void => {
    if (state === null) return;
    if (body.kind === 'AttemptPlanned' || body.kind === 'AttemptRenderFailed') templates.set(String(body.details['attempt']), body.details as unknown as PlannedTemplate);
    try {
      state = evolve(state, { at: body.at, transition: { kind: body.kind, details: body.details } as unknown as Transition });
    } catch {
      state = null;
      faults.add({ eventId, version: row.version }, 'body', 'contradicts the entries before it');
    }
  };

  return {
    entry: (row) => {
      const gap = row.version !== version + 1;
      if (gap) {
        const missing = row.version === version + 2 ? `version ${version + 1} is` : `versions ${version + 1} to ${row.version - 1} are`;
        faults.add({ eventId, version: version + 1 }, 'version', `${missing} missing`);
        state = null;
      }
      checkChain(row, gap);
      const body = parseBody(row.body);
      if (body === null) {
        faults.add({ eventId, version: row.version }, 'body', 'is not the text of an entry');
        state = null;
      } else {
        checkColumns(row, body, faults);
        fold(row, body);
      }
      version = row.version;
      previous = row.hash;
    },
    end: () => {
      if (version === 0) faults.add({ eventId, version: 1 }, 'version', 'there is no entry at all');
      else if (intentHash === null) faults.add({ eventId }, 'event_id', 'entries without a notification');
      return { version, hash: version === 0 ? null : previous, state, templates };
    },
  };
};
