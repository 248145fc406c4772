import { hasFailed, isLive } from '../../shared/domain/state.ts';
import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import type { TransitionKind } from '../../shared/domain/transitions.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { parseAttemptKey } from '../../shared/domain/words.ts';
import { GLYPH_OF, GLYPHS } from './timeline-glyphs.ts';
import type { GlyphName } from './timeline-glyphs.ts';

/** An entry of the ledger, as far as it is drawn. */
export interface DrawnEntry { version: number; at: number; kind: string; attempt: string | null; details: Record<string, unknown> }

/** One sign. `from` is the lane that a claim comes from. */
export interface Item { at: number; lane: number; glyph: GlyphName; words: string; version: number; from?: number }
/** A line across all lanes. */
export interface Mark { at: number; kind: 'deadline' | 'reserve' | 'expiry' | 'close' | 'now'; words: string }
export interface LaneView { name: string; standing: string; live: boolean }

/** What is drawn, without any position: lane 0 is the notification itself, then one per channel. Instants in ms. */
export interface Picture { start: number; now: number; open: boolean; lanes: LaneView[]; items: Item[]; marks: Mark[]; bands: { from: number; to: number }[]; quietMs: number }

export interface PictureInput { state: NotificationState; entries: readonly DrawnEntry[]; /** Of the policy's steps, in order; empty where unknown. */ reservesMs: readonly number[]; now: number }

/** A channel as people write it. */
export const channelWord = (channel: string): string => (channel === 'sms' ? 'SMS' : channel);

const channelsOf = (state: NotificationState): Channel[] =>
  [...new Set([...state.steps.map((step) => step.channel), ...state.attempts.map((attempt) => attempt.channel)])];

const standingOf = (state: NotificationState, channel: Channel): string => {
  const attempt = state.attempts.findLast((one) => one.channel === channel);
  const step = state.steps.find((one) => one.channel === channel);
  return (attempt?.state ?? (step?.phase === 'waiting' ? 'not used so far' : step?.phase === 'dropped' ? 'not used' : step?.phase) ?? 'not used').replaceAll('_', ' ');
};

const NO_NEWS: ReadonlySet<unknown> = new Set(['not_found', 'unknown', 'several']);

/** Tells a read that brought news from one that did not: a status that was not yet known, and that counts. */
const newsTeller = (): (entry: DrawnEntry) => boolean => {
  const known = new Map<string | null, unknown>();
  return ({ kind, attempt, details }) => {
    const { outcome } = details;
    if (outcome === undefined || !['SubmissionAccepted', 'AttemptAdopted', 'StatusObserved'].includes(kind)) return false;
    const news = !NO_NEWS.has(outcome) && details['counts'] !== false && known.get(attempt) !== outcome;
    if (news) known.set(attempt, outcome);
    return news && kind === 'StatusObserved';
  };
};

const TOLD = ['outcome', 'cause', 'reason', 'means', 'answer', 'class', 'status', 'parts'];
const toldOf = (words: string, details: Record<string, unknown>): string => {
  const told = TOLD.flatMap((name) => (details[name] === undefined || details[name] === null ? [] : [String(details[name]).replaceAll('_', ' ')]))
    .filter((one) => !words.endsWith(one.replace(/^read /, '')));
  return told.length === 0 ? '' : `: ${told.join(', ')}`;
};

const marksOf = ({ state, reservesMs, now }: PictureInput): Mark[] => {
  const decides = (attempt: AttemptState): boolean =>
    attempt.origin === 'policy' && !attempt.shadow && (attempt.settledAt === null || attempt.settledAt >= attempt.decisionDeadlineAt || !hasFailed(attempt)) && attempt.decisionDeadlineAt <= state.expiresAt;
  // Once settled, a clock that nothing can follow means nothing any more.
  const matters = (at: number): boolean => state.settledAt === null || at <= state.settledAt;
  const mayFollow = ({ step }: AttemptState): boolean => state.steps.some((later, index) => index > step && !later.shadow);
  const reserve = reservesMs.slice(1).reduce((sum, ms) => sum + ms, 0);
  return [
    ...state.attempts.filter((one) => decides(one) && (mayFollow(one) || matters(one.decisionDeadlineAt))).map((attempt): Mark => ({ at: attempt.decisionDeadlineAt, kind: 'deadline', words: `${channelWord(attempt.channel)} deadline` })),
    ...(reserve > 0 && state.rejected === null && matters(state.expiresAt - reserve) ? [{ at: state.expiresAt - reserve, kind: 'reserve', words: 'reserve begins' } as Mark] : []),
    { at: state.expiresAt, kind: 'expiry', words: 'expiry' },
    ...(state.closed ? [{ at: state.closed.at, kind: 'close', words: `closed` } as Mark] : []),
    ...(state.settledAt === null ? [{ at: now, kind: 'now', words: 'now' } as Mark] : []),
  ];
};

/** Until an entry that ends it, or still. */
const bandsOf = (entries: readonly DrawnEntry[], now: number): Picture['bands'] => entries
  .flatMap((entry, index) => (entry.kind === 'NotificationPaused' ? [{ from: entry.at, to: entries.slice(index + 1).find(({ kind }) => kind === 'NotificationResumed' || kind === 'NotificationClosed')?.at ?? Math.max(now, entry.at) }] : []));

/** Longer than the shortest time to a decision and nothing happening: cut out of the picture. */
const quietOf = (state: NotificationState): number => {
  const windows = state.attempts.map((attempt) => attempt.decisionDeadlineAt - attempt.startsAt).filter((ms) => ms > 0);
  return Math.max(1_000, Math.min(...windows, state.expiresAt - state.requestedAt));
};

/** What the picture of a notification shows. Pure; knows codes and instants only. */
export const pictureOf = (input: PictureInput): Picture => {
  const { state, entries, now } = input;
  const channels = channelsOf(state);
  const isNews = newsTeller();
  const laneOf = (channel: unknown): number => channels.indexOf(channel as Channel) + 1;
  const items = entries.map((entry): Item => {
    const news = isNews(entry);
    const glyph: GlyphName = news ? 'evidence' : GLYPH_OF[entry.kind as TransitionKind] ?? 'ended';
    const channel = entry.attempt === null ? entry.details['channel'] : parseAttemptKey(entry.attempt)?.channel;
    const fromStep = entry.kind === 'FallbackClaimed' ? state.steps[Number(entry.details['from_step'])] : undefined;
    return {
      at: entry.at, lane: laneOf(channel), glyph, version: entry.version, words: `${GLYPHS[glyph].words}${toldOf(GLYPHS[glyph].words, entry.details)}`,
      ...(fromStep ? { from: laneOf(fromStep.channel) } : {}),
    };
  });
  return {
    start: Math.min(state.requestedAt, ...items.map(({ at }) => at)), now, open: state.settledAt === null, items, marks: marksOf(input), bands: bandsOf(entries, now), quietMs: quietOf(state),
    lanes: [
      { name: 'Notice', standing: state.closed ? 'closed' : state.paused ? 'paused' : state.settledAt === null ? 'open' : 'settled', live: state.settledAt === null },
      ...channels.map((channel) => ({ name: channelWord(channel), standing: standingOf(state, channel), live: state.attempts.some((one) => one.channel === channel && isLive(one)) })),
    ],
  };
};

/** A distance from the start, e.g. `+12.4 s`, `+2 min 5 s`, `+1 h`. */
export const offsetText = (ms: number): string => {
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  const whole = (large: number, small: number, names: readonly [string, string]): string => {
    const rest = Math.floor((ms % large) / small);
    return `${Math.floor(ms / large)} ${names[0]}${rest === 0 ? '' : ` ${rest} ${names[1]}`}`;
  };
  if (ms < 3_600_000) return whole(60_000, 1_000, ['min', 's']);
  return ms < 86_400_000 ? whole(3_600_000, 60_000, ['h', 'min']) : whole(86_400_000, 3_600_000, ['d', 'h']);
};
