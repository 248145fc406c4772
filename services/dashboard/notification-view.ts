import type { ChannelAnswer } from '../../shared/domain/answer-channels.ts';
import { answerChannels } from '../../shared/domain/answer-channels.ts';
import type { LetterEnd } from '../../shared/domain/explain-dead-letter.ts';
import { explain } from '../../shared/domain/explain.ts';
import { fold } from '../../shared/domain/evolve.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import type { Transition } from '../../shared/domain/transitions.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import type { BoundVersions } from '../../shared/delivery/versions.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { RecordedAct, ToldDeadLetter } from '../../shared/delivery/operator-acts.ts';
import { readOperatorActs, toldDeadLetters } from '../../shared/delivery/operator-acts.ts';
import { endsOf, readDeadLettersOf } from '../../shared/ledger/dead-letters.ts';
import type { EntryRecord, NotificationRecord } from '../../shared/ledger/reads.ts';
import { readEntries, readNotification, readTicket } from '../../shared/ledger/reads.ts';
import type { Picture } from './timeline-picture.ts';
import { pictureOf } from './timeline-picture.ts';

/** Everything that the page of a notification shows, as of one version of it. */
export interface ShownNotification {
  record: NotificationRecord;
  bound: BoundVersions;
  /** The fold of `entries`, so that both belong to one instant. */
  state: NotificationState;
  entries: EntryRecord[];
  /** What people did to it, with their reasons. */
  acts: RecordedAct[];
  /** Those that wait, and those that somebody discarded. */
  deadLetters: ToldDeadLetter[];
  /** How dead letters ended that have, the oldest first. */
  letterEnds: LetterEnd[];
  /** Why each channel was used or not, one answer for each. */
  channels: ChannelAnswer[];
  explanation: string[];
  picture: Picture;
  hasTicket: boolean;
  now: number;
}

/** How often an open picture is drawn anew although nothing was appended: its *now* moves. Seldom once only polls are left. */
export const redrawMs = (status: string): number => (status === 'accepted' || status === 'in_progress' ? 3_000 : 15_000);

/** What names this state of the page: its version, and while it is open the time, coarsely. */
export const tagOf = ({ version, status, open }: { version: number; status: string; open: boolean }, now: number): string =>
  `"${version}${open ? `-${Math.floor(now / redrawMs(status))}` : ''}"`;

/** The tag of what is shown. */
export const tagOfShown = ({ state, now }: ShownNotification): string =>
  tagOf({ version: state.version, status: publicStatus(state), open: state.settledAt === null }, now);

/** Reads a notification for its page; null where there is none. */
export const showNotification = async (engine: Engine, eventId: string): Promise<ShownNotification | null> => {
  const record = await readNotification(engine.db, { eventId });
  if (!record) return null;
  const [entries, ticket, bound] = await Promise.all([readEntries(engine.db, eventId), readTicket(engine.db, { eventId }), engine.versions.bind(record.purpose, record.policyVersion)]);
  const drawn = entries.map((entry) => ({ version: entry.version, at: entry.at.getTime(), kind: entry.kind, attempt: entry.attemptKey, details: detailsOf(entry) }));
  const state = fold(eventId, drawn.map(({ at, kind, details }) => ({ at, transition: { kind, details } as unknown as Transition })));
  const acts = await readOperatorActs(engine, eventId, entries);
  const letters = await readDeadLettersOf(engine.db, state);
  const letterEnds = endsOf(letters);
  const now = engine.now();
  return {
    record, bound, state, entries, acts, deadLetters: toldDeadLetters(engine, eventId, letters), letterEnds, now, hasTicket: ticket !== null, channels: answerChannels(state, drawn, bound.policy, letterEnds), explanation: explain(state, drawn, bound.policy, letterEnds),
    picture: pictureOf({ state, entries: drawn, reservesMs: bound.policy.steps.filter((step) => !step.shadow).map((step) => step.reserveMs), now }),
  };
};
