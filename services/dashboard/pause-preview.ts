import type { PauseClock } from '../../shared/domain/pause-preview.ts';
import { pausePreview } from '../../shared/domain/pause-preview.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import type { ShownNotification } from './notification-view.ts';
import { relativeTime, shownTime } from './page.ts';
import { channelWord } from './timeline-picture.ts';

const WORDS: Readonly<Record<PauseClock['kind'], (channel: string) => string>> = {
  submission: (channel) => `${channel} would not be handed over to its provider`,
  claim: (channel) => `whether ${channel} starts would not be decided`,
  nothing: () => 'from here on nothing could reach the recipient',
  reserve: () => 'the time kept for the channels to come begins',
  page: () => 'somebody is paged',
  expiry: () => 'it expires, paused or not; nothing is sent after that',
};

const wordsOf = ({ kind, channel }: PauseClock): string => escapeHtml(WORDS[kind](channel === null ? '' : channelWord(channel)));

/** The first breach in a few words, for where there is no room; null where a pause is not possible. */
export const breachInShort = ({ bound, state, now }: ShownNotification): string | null => {
  const preview = pausePreview(bound.policy, state, now);
  if (preview === null) return null;
  return preview.breach === null ? 'would endanger nothing' : `first breach ${relativeTime(preview.breach.at, now)}`;
};

/** What a pause now would hold and endanger: which notification, what is broken first and when, and every clock. As HTML; empty where it is not possible. */
export const pausePreviewSection = ({ bound, state, now, record }: ShownNotification): string => {
  const preview = pausePreview(bound.policy, state, now);
  if (preview === null) return '';
  const { breach, clocks, inFlight } = preview;
  const calls = inFlight.map((key) => `<code>${escapeHtml(key.split('.').slice(1).join(' '))}</code>`).join(', ');
  return `<div class="preview" id="pause-preview"><p>It would hold one notification, <code>${escapeHtml(record.eventId)}</code>, and ${breach === null ? 'endanger nothing: its provider has the message, or nothing is left to send.'
    : `endanger it. <strong>First breach</strong> ${relativeTime(breach.at, now)}, at ${shownTime(breach.at)}: ${wordsOf(breach)}.`}</p>
${calls === '' ? '' : `<p>A call is under way (${calls}): it is not called back, and may still arrive.</p>`}
<ol class="clocks">${clocks.map((clock) => `<li>${shownTime(clock.at)} <span class="soft">${relativeTime(clock.at, now)}</span> <span>${wordsOf(clock)}</span></li>`).join('')}</ol></div>`;
};
