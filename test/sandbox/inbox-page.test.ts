import { describe, expect, it } from '@jest/globals';
import { inboxPage } from '../../services/sandbox/inbox-page.ts';
import type { MessageView } from '../../services/sandbox/views.ts';

const COUNTS = { accepted: 1, refused: 0, sms: 1, email: 0, attempt_keys: 1, duplicate_attempt_keys: 0, duplicate_events: 0 };
const sms = (body: string, more: Partial<MessageView> = {}): MessageView => ({
  id: 'SM1', channel: 'sms', to: '+12025550101', from: null, body, subject: null, text: null, html: null, headers: {}, attempt_key: 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV.sms.1',
  received_at: '2026-01-05T12:00:00.000Z', status: 'delivered', error_code: null, behaviour: 'accept', segments: 1, content_sha256: '', submission_count: 1, accepted_count: 1, event_channel_count: 1, ...more,
});
const seen = (messages: MessageView[], to?: string, paused = false): string => inboxPage({ messages, counts: COUNTS, to, paused });

describe('the inbox page', () => {
  it('shows a text as it came, with its web addresses as links and nothing else of it as HTML', () => {
    const html = seen([sms('<img src=x onerror=alert(1)> see https://example.com/a?b=1&c=2"onclick="x')]);
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt; see <a href="https://example.com/a?b=1&amp;c=2" rel="noreferrer">');
    expect(html).not.toMatch(/<img|"onclick=/);
    expect(seen([sms('javascript:alert(1)')])).not.toContain('href="javascript');
  });

  it('calls a duplicate by its name', () => {
    expect(seen([sms('x', { accepted_count: 2 })])).toContain('duplicate: 2 with this attempt key');
  });

  it('says where there is nothing, and for whom', () => {
    expect(seen([])).toContain('No messages yet');
    expect(seen([], '<b>')).toContain('No messages to &lt;b&gt; yet');
  });

  it('follows what is received with and without JavaScript, until it is stopped', () => {
    expect(seen([])).toMatch(/<noscript><meta http-equiv="refresh" content="3"><\/noscript><script src="\/inbox.js" defer>/);
    expect(seen([], undefined, true)).not.toMatch(/http-equiv="refresh"|<script/);
  });
});
