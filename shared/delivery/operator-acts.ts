import type { DeadLetterOf } from '../ledger/dead-letters.ts';
import type { EntryRecord } from '../ledger/reads.ts';
import { readOperatorWords } from '../ledger/operator-words.ts';
import type { OperatorWords } from '../ledger/operator-words.ts';
import type { SealedBox } from '../ledger/rows.ts';
import { openText, SealError } from '../security/sealing.ts';
import type { Engine } from './engine.ts';
import { detailsOf } from './notification-view.ts';
import { openReason } from './operator-reason.ts';
import { openPart } from './payload.ts';

/** The entries that somebody's act made, and not the clock or a provider. */
const ACTS = { NotificationPaused: 'pause', NotificationResumed: 'resume', NotificationClosed: 'close', OperatorRetried: 'retry' } as const;
type ActKind = keyof typeof ACTS;

/** What somebody did to a notification, by whom and why. `words` is what he wrote: null where he gave a code, or where it was destroyed since. */
export interface RecordedAct { act: (typeof ACTS)[ActKind]; version: number; at: number; actor: string; attempt: string | null; reason: string; words: string | null; /** A call was under way at that instant, and was not called back. */ inFlight: boolean }

const isAct = ({ kind }: EntryRecord): boolean => Object.hasOwn(ACTS, kind);

/** The last version of the append that an entry came with: there its words lie. An append has one instant and one request. */
const endOfAppend = (entries: readonly EntryRecord[], from: number): number => {
  const first = entries[from] as EntryRecord;
  let last = from;
  while (entries[last + 1]?.requestId === first.requestId && entries[last + 1]?.at.getTime() === first.at.getTime()) last += 1;
  return (entries[last] as EntryRecord).version;
};

/** Null where it is somebody else's text, such as a provider's answer, or its key is gone. */
const opened = (open: () => unknown): string | null => {
  try {
    const words = open();
    return typeof words === 'string' ? words : null;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
};

/**
 * What people did to a notification, the oldest first, with what they wrote. `entries` are all of its ledger. Reads the database only
 * where somebody wrote a sentence.
 */
export const readOperatorActs = async (engine: Pick<Engine, 'db' | 'ring'>, eventId: string, entries: readonly EntryRecord[]): Promise<RecordedAct[]> => {
  const found = entries.flatMap((entry, index) => (isAct(entry) ? [{ entry, details: detailsOf(entry), end: endOfAppend(entries, index) }] : []));
  const written = found.filter(({ details }) => details['reason'] === 'other');
  const words: OperatorWords = written.length === 0 ? { byVersion: new Map(), close: null } : await readOperatorWords(engine.db, eventId, [...new Set(written.map(({ end }) => end))]);
  const beside = (box: SealedBox): string | null => opened(() => (JSON.parse(openText(engine.ring, box, `${eventId}/observation`)) as { operator?: unknown }).operator);
  return found.map(({ entry, details, end }) => {
    const reason = String(details['reason']);
    const act = ACTS[entry.kind as ActKind];
    const close = words.close;
    const said = reason !== 'other' ? null
      : act === 'close' ? close && opened(() => openPart<{ close?: unknown }>(engine.ring, eventId, 'operator_text', close).close)
        : (words.byVersion.get(end) ?? []).map(beside).find((one) => one !== null) ?? null;
    return { act, version: entry.version, at: entry.at.getTime(), actor: entry.actor, attempt: entry.attemptKey, reason, words: said, inFlight: details['in_flight'] === true };
  });
};

/** A dead letter that waits, or that somebody discarded; `words` as of a recorded act. */
export interface ToldDeadLetter { attempt: string; discarded: { actor: string; at: number; reason: string; words: string | null } | null }

/** Of the dead letters of a notification those that wait for an operator, and those that one discarded. A discard is no entry of the ledger: its request says who and why. */
export const toldDeadLetters = (engine: Pick<Engine, 'ring'>, eventId: string, letters: readonly DeadLetterOf[]): ToldDeadLetter[] =>
  letters.flatMap(({ attemptKey, end, discard }): ToldDeadLetter[] => {
    if (end === null) return [{ attempt: attemptKey, discarded: null }];
    if (discard === null) return [];
    const { actor, at, reason } = discard;
    return [{ attempt: attemptKey, discarded: { actor, at, reason, words: reason === 'other' && discard.box !== null ? opened(() => openReason(engine, eventId, discard)) : null } }];
  });
