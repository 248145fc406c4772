import type { EndedAs } from '../domain/at-risk.ts';
import type { NextAction } from '../domain/next-action.ts';
import { layRisks } from '../ledger/at-risk.ts';
import type { AlertKind, DueAlert, ReceiverName, WantedAlert } from '../ledger/alerts.ts';
import { endAlerts, leaseAlertPosts, raiseAlerts, readOpenAlerts, settleAlertPosts } from '../ledger/alerts.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { AlertNotice, AlertReceiver } from '../transports/alerts/receiver.ts';
import { surveyRisks } from './at-risk.ts';
import type { RiskRow, Standing } from './at-risk.ts';
import type { Engine } from './engine.ts';

/** What an alert says of the notification that it names: codes, ids and instants, never an address or a text. */
export interface AlertFacts {
  region: string; urgency: string; policy_version: number; channels: string[]; last_read_at: number | null; deadline_at: number; action: NextAction; since: number;
  /** How many of its purpose there are, this one with them; a page is always one. */
  count: number;
  /** How a page ended; absent while it lasts, and for a warning. */
  ended_as?: EndedAs;
}

/** Most pages that last at once: beyond that the number is the news, which the metrics tell. */
const MOST_PAGES = 500;
/** What lasts is told again that often. Alertmanager forgets what it does not hear of. */
const REPOST_EVERY_MS = 60_000;
const LEASE_MS = 30_000;
const BATCH = 50;

const isAlert = (kind: string): kind is AlertKind => kind === 'at_risk' || kind === 'reserve_used' || kind === 'stalled';

const alertOf = (row: RiskRow, kind: AlertKind, count: number): WantedAlert<AlertFacts> => ({
  dedupKey: kind === 'at_risk' ? `at_risk/${row.eventId}` : `${kind}/${row.purpose}`, kind, purpose: row.purpose, eventId: row.eventId,
  facts: {
    region: row.region, urgency: row.urgency, policy_version: row.policyVersion, channels: row.channels, last_read_at: row.lastReadAt, deadline_at: row.expiresAt, action: row.action, since: row.since, count,
  },
});

/** One page for each notification at risk, those with the nearest end first where there are too many; one warning for a kind and purpose, which names the oldest. `rows` come oldest first. */
export const wantedAlerts = (rows: readonly RiskRow[]): WantedAlert<AlertFacts>[] => {
  const pages = rows.filter(({ kind }) => kind === 'at_risk').toSorted((one, other) => one.expiresAt - other.expiresAt).slice(0, MOST_PAGES);
  const warnings = new Map<string, RiskRow[]>();
  for (const row of rows.filter(({ kind }) => kind === 'reserve_used' || kind === 'stalled')) {
    const group = warnings.get(`${row.kind}/${row.purpose}`);
    if (group) group.push(row);
    else warnings.set(`${row.kind}/${row.purpose}`, [row]);
  }
  return [
    ...pages.map((row) => alertOf(row, 'at_risk', 1)),
    ...[...warnings.values()].flatMap((group) => group.slice(0, 1).flatMap((oldest) => (isAlert(oldest.kind) ? [alertOf(oldest, oldest.kind, group.length)] : []))),
  ];
};

/** What a page says once it is over: what was true when it was raised is not any more. */
const endOf = (standing: Standing | undefined): Partial<AlertFacts> => (standing === undefined ? {} : {
  ended_as: standing.endedAs, channels: standing.channels, last_read_at: standing.lastReadAt, action: standing.endedAs === 'expired' ? 'reach_otherwise' : 'over',
});

/**
 * Looks at all that may be at risk, raises what is new and ends what is over. Any number of coordinators may do so at once: an incident is
 * one row. Postgres alone. Returns the keys that this call raised and ended.
 */
export const reviewAlerts = async (engine: Engine, receivers: readonly ReceiverName[]): Promise<{ raised: string[]; ended: string[] }> => {
  const open = await readOpenAlerts(engine.db);
  const survey = await surveyRisks(engine, { also: open.filter(({ kind }) => kind === 'at_risk').map(({ eventId }) => eventId) });
  await layRisks(engine.db, survey.lapsed);
  const wanted = wantedAlerts(survey.rows);
  const raised = await raiseAlerts(engine.db, { wanted, receivers, now: survey.now });
  const keys = new Set(wanted.map(({ dedupKey }) => dedupKey));
  // Where only the oldest were looked at, that none was found of a purpose says nothing.
  const over = open.filter(({ dedupKey, kind }) => !keys.has(dedupKey) && (kind === 'at_risk' || !survey.more));
  const ended = await endAlerts(engine.db, over.map(({ id, kind, eventId }) => ({ id, facts: kind === 'at_risk' ? endOf(survey.standing.get(eventId)) : {} })), survey.now);
  for (const { dedupKey, kind, eventId, facts } of wanted) if (raised.includes(dedupKey)) engine.log.warn({ event: EVENTS.alertRaised, alert: dedupKey, kind, event_id: eventId, action: facts.action, to_deadline_ms: facts.deadline_at - survey.now });
  for (const dedupKey of ended) engine.log.info({ event: EVENTS.alertEnded, alert: dedupKey });
  return { raised, ended };
};

/** Where an alert leads to. */
export interface AlertLinks { dashboardUrl: string; /** Base of the runbooks, where they are served; null names the file alone. */ runbookUrl: string | null }

const RUNBOOKS: Record<AlertKind, string> = { at_risk: 'at-risk', reserve_used: 'reserve-used', stalled: 'reconciliation-stalled' };

const noticeOf = ({ dedupKey, kind, purpose, eventId, facts, raisedAt, endedAt }: DueAlert<AlertFacts>, { dashboardUrl, runbookUrl }: AlertLinks): AlertNotice => ({
  dedupKey, kind, purpose, eventId, raisedAt, endedAt, severity: kind === 'at_risk' ? 'page' : 'warning', region: facts.region, urgency: facts.urgency, policyVersion: facts.policy_version,
  channels: facts.channels, lastReadAt: facts.last_read_at, deadlineAt: facts.deadline_at, action: facts.action, count: facts.count, endedAs: facts.ended_as ?? null,
  runbook: `docs/runbooks/${RUNBOOKS[kind]}.md`, runbookUrl: runbookUrl === null ? null : `${runbookUrl}/${RUNBOOKS[kind]}.md`, pageUrl: `${dashboardUrl.replace(/\/+$/, '')}/notifications/${eventId}`,
});

/**
 * Tells a receiver what is due. Told first, recorded after: a crash in between tells it again, which the key makes harmless. Returns how
 * many it took and how many it did not.
 */
export const postAlerts = async (engine: Engine, receiver: AlertReceiver, links: AlertLinks): Promise<{ told: number; failed: number }> => {
  const sum = { told: 0, failed: 0 };
  for (;;) {
    const now = engine.now();
    const due = await leaseAlertPosts<AlertFacts>(engine.db, { receiver: receiver.name, now, leaseUntil: now + LEASE_MS, limit: BATCH });
    if (due.length === 0) return sum;
    const taken = await receiver.send(due.map((alert) => noticeOf(alert, links)), now);
    const [told, failed] = [due.filter((_, index) => taken[index] === true), due.filter((_, index) => taken[index] !== true)];
    await settleAlertPosts(engine.db, receiver.name, { told, failed, now, againAt: now + REPOST_EVERY_MS });
    engine.metrics.alertPosts.inc({ receiver: receiver.name, result: 'taken' }, told.length);
    engine.metrics.alertPosts.inc({ receiver: receiver.name, result: 'failed' }, failed.length);
    // The alert could not be told: a person has to act, and the log is what is left.
    if (failed.length > 0) engine.log.error({ event: EVENTS.alertNotTold, receiver: receiver.name, count: failed.length });
    sum.told += told.length;
    sum.failed += failed.length;
    if (due.length < BATCH || told.length === 0) return sum;
  }
};
