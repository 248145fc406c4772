import { createHash } from 'node:crypto';
import { NEXT_ACTIONS } from '../../domain/next-action.ts';
import { signatureOver, signingSecrets } from '../origin/signature.ts';
import type { AlertNotice, AlertReceiver } from './receiver.ts';
import { postJson, summaryOf } from './receiver.ts';

const isoOrNull = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const bodyOf = (notice: AlertNotice, now: number): string => JSON.stringify({
  version: 1, status: notice.endedAt === null ? 'firing' : 'resolved', dedup_key: notice.dedupKey, alert: notice.kind, severity: notice.severity, summary: summaryOf(notice),
  event_id: notice.eventId, purpose: notice.purpose, policy_version: notice.policyVersion, region: notice.region, urgency: notice.urgency, channels: notice.channels, count: notice.count,
  last_status_read_at: isoOrNull(notice.lastReadAt), deadline_at: isoOrNull(notice.deadlineAt), seconds_to_deadline: Math.max(0, Math.floor((notice.deadlineAt - now) / 1_000)),
  next_action: { code: notice.action, text: NEXT_ACTIONS[notice.action] }, runbook: notice.runbookUrl ?? notice.runbook, page: notice.pageUrl,
  raised_at: isoOrNull(notice.raisedAt), ended_at: isoOrNull(notice.endedAt), ended_as: notice.endedAs,
});

/** The text that is signed, line by line; docs/alerts.md shows how a receiver makes it. */
const signedText = ({ host, target, body, at }: { host: string; target: string; body: string; at: number }): string =>
  ['tocsin-alert-1', String(Math.floor(at / 1_000)), 'POST', host, target, createHash('sha256').update(body).digest('hex')].join('\n');

/**
 * Tells any program: one signed POST for each alert, with a key that stays the same while it lasts. Everything but 2xx counts as not
 * taken. `secrets`: the newest first; a call carries a signature under each.
 */
export const createWebhook = ({ url, secrets }: { url: string; secrets: readonly string[] }): AlertReceiver => {
  const { host, pathname, search, href } = new URL(url);
  const keys = signingSecrets(secrets);
  const tell = async (notice: AlertNotice, now: number): Promise<boolean> => {
    const body = bodyOf(notice, now);
    const text = signedText({ host, target: `${pathname}${search}`, body, at: now });
    const status = await postJson(href, body, { 'Tocsin-Signature': signatureOver(keys, text, now), 'Tocsin-Dedup-Key': notice.dedupKey });
    return status !== null && status >= 200 && status < 300;
  };
  return {
    name: 'webhook',
    send: async (notices, now) => {
      const taken: boolean[] = [];
      for (const notice of notices) {
        taken.push(await tell(notice, now));
        // One that does not answer is not asked fifty times in a row.
        if (taken.at(-1) === false) break;
      }
      return notices.map((_, index) => taken[index] === true);
    },
  };
};
