import type { PublicStatus } from '../../shared/domain/words.ts';
import type { Site } from './page.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { page, shownTime } from './page.ts';

export interface ReceiptView {
  token: string;
  eventId: string;
  queue: string;
  urgency: string;
  status: PublicStatus;
  receivedAt: number;
  /** What the player wrote; null once it was erased. */
  message: string | null;
  /** Nothing more will come by itself. */
  settled: boolean;
  paused: boolean;
}

interface Words { state: string; next: string; tone?: 'good' | 'bad' }

const CALLED = 'Support answers you where you left a contact, or in the game.';
const WORDS: Readonly<Record<PublicStatus, Words>> = {
  accepted: { state: 'We have your message', next: 'The person on call is being notified now.' },
  in_progress: { state: 'The person on call is being notified', next: 'If the first way does not work in time, we try another one by ourselves.' },
  sent: { state: 'The person on call was sent a notice', next: `It is on its way; that it arrived is not confirmed. ${CALLED}` },
  shadowed: { state: 'We have your message', next: `Your ticket is in the queue. ${CALLED}` },
  delivered: { state: 'The person on call has the notice', next: CALLED, tone: 'good' },
  partially_delivered: { state: 'The person on call has the notice', next: CALLED, tone: 'good' },
  closed: { state: 'Your ticket is taken care of', next: CALLED, tone: 'good' },
  unknown: { state: 'We may have reached the person on call', next: `We could not find out whether the notice arrived. Your ticket stays in the queue. ${CALLED}` },
  undelivered: { state: 'The person on call could not be reached', next: `Your ticket stays in the queue and is read there. ${CALLED}`, tone: 'bad' },
  expired: { state: 'The person on call was not reached in time', next: `Your ticket stays in the queue and is read there. ${CALLED}`, tone: 'bad' },
  suppressed: { state: 'Nobody could be notified at once', next: `Your ticket stays in the queue and is read there. ${CALLED}`, tone: 'bad' },
  policy_rejected: { state: 'We have your message', next: `Urgent notices are not available for your region, so nobody was alerted. Your ticket stays in the queue and is read there. ${CALLED}` },
};

const REFRESH_SECONDS = 5;

/** The player's own page about a ticket. Says nothing about who is on call or how to reach them. */
export const receiptPage = (site: Site, view: ReceiptView): string => {
  const { state, next, tone } = WORDS[view.status];
  const self = `${site.basePath}/receipts/${view.token}`;
  const refreshing = view.settled ? '' : view.paused
    ? `<p class="soft refresh">This page stands still. <a href="${escapeHtml(self)}">Refresh by itself</a></p>`
    : `<p class="soft refresh">This page refreshes by itself. <a href="${escapeHtml(self)}?paused=1">Stop refreshing</a></p>`;
  return page(site, {
    title: 'Your ticket', refreshSeconds: view.settled || view.paused ? undefined : REFRESH_SECONDS,
    main: `<h1>Your ticket</h1><div class="card"><p class="state${tone ? ` ${tone}` : ''}">${state}</p><p>${next}</p>${refreshing}
<dl><dt>Reference</dt><dd><code>${escapeHtml(view.eventId)}</code></dd><dt>Queue</dt><dd>${escapeHtml(view.queue)}</dd>
<dt>Status</dt><dd><code>${view.status}</code></dd><dt>Received</dt><dd>${shownTime(view.receivedAt)}</dd></dl></div>
<h2>What you wrote</h2>${view.message === null ? '<p class="soft">The text was erased.</p>' : `<div class="words" dir="auto">${escapeHtml(view.message)}</div>`}
<p class="soft">Keep the address of this page to yourself: whoever has it can read your ticket here.</p>
<p class="next"><a href="${escapeHtml(site.basePath)}/">Write about something else</a></p>`,
  });
};
