import { NEXT_ACTIONS } from '../../domain/next-action.ts';
import type { AlertNotice, AlertReceiver } from './receiver.ts';
import { postJson, spanOf, summaryOf } from './receiver.ts';

/** So long Alertmanager keeps what it hears of no more; told again every minute. */
const LASTS_MS = 5 * 60_000;

export const ALERT_NAMES = { at_risk: 'TocsinNotificationAtRisk', reserve_used: 'TocsinReserveUsed', stalled: 'TocsinReconciliationStalled' } as const;

const iso = (at: number): string => new Date(at).toISOString();

/**
 * An alert as Alertmanager's API v2 takes it. Its identity is its labels, so they hold nothing that changes while it lasts: a page is of
 * one notification, a warning of a purpose.
 */
const alertOf = (notice: AlertNotice, now: number) => ({
  labels: {
    alertname: ALERT_NAMES[notice.kind], severity: notice.severity, purpose: notice.purpose, service: 'tocsin',
    ...(notice.severity === 'page' ? { event_id: notice.eventId, region: notice.region, urgency: notice.urgency } : {}),
  },
  annotations: {
    summary: summaryOf(notice), event_id: notice.eventId, purpose: `${notice.purpose}, policy version ${notice.policyVersion}`, channels: notice.channels.join('; '),
    last_status_read: notice.lastReadAt === null ? 'none' : iso(notice.lastReadAt), deadline: iso(notice.deadlineAt), time_to_deadline: spanOf(notice.deadlineAt - now),
    next_action: NEXT_ACTIONS[notice.action], runbook: notice.runbook, page: notice.pageUrl, ...(notice.runbookUrl === null ? {} : { runbook_url: notice.runbookUrl }),
  },
  startsAt: iso(notice.raisedAt), endsAt: iso(notice.endedAt ?? now + LASTS_MS), generatorURL: notice.pageUrl,
});

/**
 * Tells Alertmanager, by `POST /api/v2/alerts` under `url`. Its 400 can mean that it took some and refused others: each is then told by itself.
 * Source: its OpenAPI document, `postAlerts`.
 */
export const createAlertmanager = (url: string): AlertReceiver => {
  const target = `${url.replace(/\/+$/, '')}/api/v2/alerts`;
  const tell = (notices: readonly AlertNotice[], now: number): Promise<number | null> => postJson(target, JSON.stringify(notices.map((notice) => alertOf(notice, now))));
  const isTaken = (status: number | null): boolean => status !== null && status >= 200 && status < 300;
  return {
    name: 'alertmanager',
    send: async (notices, now) => {
      const status = await tell(notices, now);
      if (status !== 400 || notices.length < 2) return notices.map(() => isTaken(status));
      const taken: boolean[] = [];
      for (const notice of notices) taken.push(isTaken(await tell([notice], now)));
      return taken;
    },
  };
};
