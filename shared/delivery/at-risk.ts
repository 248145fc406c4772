import type { EndedAs, Risk } from '../domain/at-risk.ts';
import { atRisk, byUrgency, endedAs, riskAt } from '../domain/at-risk.ts';
import type { IsOpen, NextAction } from '../domain/next-action.ts';
import { channelStates, lastReadAt, NEXT_ACTIONS, nextAction } from '../domain/next-action.ts';
import type { Policy } from '../domain/policy.ts';
import { awaitsOperator } from '../domain/state.ts';
import { publicStatus } from '../domain/status.ts';
import { EVENT_ID } from '../domain/words.ts';
import type { Suspect } from '../ledger/at-risk.ts';
import { loadSuspects } from '../ledger/at-risk.ts';
import { readOpenLetters } from '../ledger/dead-letters.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { Engine } from './engine.ts';

/** Most notifications of a kind that are looked at for one list: the oldest ones. */
const LOOKED_AT = 1_000;
/** The same where it is searched: the one that is looked for may be anywhere among them. */
const SEARCHED = 10_000;

/** One finding with what an operator needs beside it; ids, codes and instants alone. */
export interface RiskRow {
  kind: Risk['kind']; since: number;
  eventId: string; purpose: string; policyVersion: number; region: string; urgency: string; status: string;
  attempt: string | null; channels: string[]; lastReadAt: number | null; requestedAt: number; expiresAt: number; action: NextAction;
}

/** Of whom: an event id (or an attempt key of it) in any case, the recipient's reference, or the id of the request. */
export type RiskSearch = string;

/** `rows` are the oldest of `count`, which were found by the same query. `more`: only the oldest were looked at, and there may be others. */
export interface RiskList { rows: RiskRow[]; count: number; more: boolean; now: number }

const rowOf = (suspect: Suspect, how: { now: number; isOpen: IsOpen }) => ({ kind, since, attempt }: Risk): RiskRow => {
  const { eventId, purpose, policyVersion, region, urgency, requestedAt, expiresAt, state } = suspect;
  return {
    kind, since, eventId, purpose, policyVersion, region, urgency, status: publicStatus(state), attempt, channels: channelStates(state), lastReadAt: lastReadAt(state), requestedAt, expiresAt,
    action: nextAction(state, kind, how),
  };
};

/** The event id that a search is, or begins with; people and chat programs change the case of ids, which have but one. */
export const eventIdIn = (search: RiskSearch): string | null => {
  const [head = ''] = search.split('.');
  const eventId = head.toUpperCase().replace(/^EVT_/, 'evt_');
  return EVENT_ID.test(eventId) ? eventId : null;
};

const fits = (engine: Pick<Engine, 'ring'>, search: RiskSearch | null) => {
  if (search === null) return () => true;
  const eventId = eventIdIn(search);
  // References and request ids are their owners', and may differ by case: as it was written, or else in lower case.
  const texts = [...new Set([search, search.toLowerCase()])];
  const prints = texts.map((text) => fingerprint(engine.ring, 'recipient-ref', text));
  return (suspect: Suspect): boolean => (eventId === null
    ? texts.includes(suspect.requestId) || prints.some((print) => suspect.referencePrint?.equals(print) === true) : suspect.eventId === eventId);
};

/** Each with its policy version, which says from when on something is found. */
const withPolicies = async (engine: Pick<Engine, 'versions'>, suspects: readonly Suspect[]): Promise<{ suspect: Suspect; policy: Policy }[]> => {
  const known = new Map<string, Promise<Policy>>();
  return Promise.all(suspects.map(async (suspect) => {
    const key = `${suspect.purpose}/${suspect.policyVersion}`;
    const policy = known.get(key) ?? engine.versions.bind(suspect.purpose, suspect.policyVersion).then((bound) => bound.policy);
    known.set(key, policy);
    return { suspect, policy: await policy };
  }));
};

/** How one stands that was asked about by its id. */
export interface Standing { endedAs: EndedAs; channels: string[]; lastReadAt: number | null }

/**
 * Everything that is found now, the oldest first; what was looked at in vain, with the instant to look at it again; and how those stand that were to be
 * looked at in any case.
 */
export interface Survey extends RiskList { lapsed: { eventId: string; version: number; riskAt: number | null }[]; standing: ReadonlyMap<string, Standing> }

/** Looks at all that may be at risk. `also` are looked at in any case. Postgres alone, by ranges of indexes. */
export const surveyRisks = async (engine: Pick<Engine, 'db' | 'versions' | 'ring' | 'now'>, how: { search?: RiskSearch | null; also?: readonly string[]; limit?: number } = {}): Promise<Survey> => {
  const { search = null, also = [] } = how;
  const now = engine.now();
  const named = search === null ? null : eventIdIn(search);
  const limit = how.limit ?? (search === null ? LOOKED_AT : SEARCHED);
  const { suspects, full } = await loadSuspects(engine.db, { now, limit, also: named === null ? also : [...also, named] });
  const looked = await withPolicies(engine, suspects.filter(fits(engine, search)));
  const stopped = looked.flatMap(({ suspect }) => suspect.state.attempts.filter(awaitsOperator).map(({ key }) => key));
  const open = await readOpenLetters(engine.db, stopped);
  const isOpen: IsOpen = (attempt) => open.has(attempt);
  const rows: RiskRow[] = [];
  const lapsed: Survey['lapsed'] = [];
  const asked = new Set(also);
  const standing = new Map<string, Standing>();
  for (const { suspect, policy } of looked) {
    const risks = atRisk(policy, suspect.state, now);
    rows.push(...risks.map(rowOf(suspect, { now, isOpen })));
    if (asked.has(suspect.eventId)) standing.set(suspect.eventId, { endedAs: endedAs(suspect.state, now), channels: channelStates(suspect.state), lastReadAt: lastReadAt(suspect.state) });
    if (risks.length === 0 && suspect.riskAt !== null && suspect.riskAt <= now) lapsed.push({ eventId: suspect.eventId, version: suspect.state.version, riskAt: riskAt(policy, suspect.state, now) });
  }
  rows.sort((one, other) => byUrgency(one, other) || (one.eventId < other.eventId ? -1 : 1));
  return { rows, count: rows.length, more: full, now, lapsed, standing };
};

/** The list for people: at most `shown` of the findings, with how many there are. */
export const listRisks = async (engine: Pick<Engine, 'db' | 'versions' | 'ring' | 'now'>, { shown, search }: { shown: number; search: RiskSearch | null }): Promise<RiskList> => {
  const { rows, count, more, now } = await surveyRisks(engine, { search });
  return { rows: rows.slice(0, shown), count, more, now };
};

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

/** A list as programs read it. */
export const riskListView = ({ rows, count, more, now }: RiskList) => ({
  at: iso(now), count, more,
  items: rows.map((row) => ({
    finding: row.kind, since: iso(row.since), event_id: row.eventId, attempt: row.attempt, purpose: row.purpose, policy_version: row.policyVersion, region: row.region, urgency: row.urgency, status: row.status,
    channels: row.channels, last_status_read_at: iso(row.lastReadAt), requested_at: iso(row.requestedAt), deadline_at: iso(row.expiresAt), next_action: { code: row.action, text: NEXT_ACTIONS[row.action] },
  })),
});
