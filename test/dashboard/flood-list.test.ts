import { describe, expect, it } from '@jest/globals';
import type { ListedNotification } from '../../shared/ledger/list-notifications.ts';
import { listPage } from '../../services/dashboard/list-page.ts';

const AT = Date.UTC(2026, 10, 29, 12, 30);
const row = (number: number, over: Partial<ListedNotification> = {}): ListedNotification => ({
  eventId: `evt_${String(number).padStart(26, '0')}`, purpose: 'game-support-urgent', region: 'US', urgency: 'urgent', requestedAt: AT + number * 1_000, status: 'sent', updatedAt: AT, category: 'payment_lockout',
  throttled: false, recipient: 'aa', ...over,
});
const shown = (rows: ListedNotification[], throttled = false): string => listPage({ listed: { rows, older: null }, filter: throttled ? { throttled } : {}, purposes: [], now: AT + 60_000 });
const linesOf = (html: string): string[] => [...html.matchAll(/<p>(\d+ tickets? to one on-call[^]*?)<\/p>/g)].map(([, line = '']) => line.replace(/<[^>]+>/g, ''));

describe('the list of notifications in a flood', () => {
  it('says for each on-call how many tickets went beyond the throttle, and since when', () => {
    const html = shown([row(9), row(8, { throttled: true }), row(7, { throttled: true, recipient: 'bb' }), row(6, { throttled: true }), row(5)]);
    expect(linesOf(html)).toEqual([
      '2 tickets to one on-call since 2026-11-29 12:30:06.000 UTC went beyond the throttle: they are told by the other channels of the policy. Show these',
      '1 ticket to one on-call since 2026-11-29 12:30:07.000 UTC went beyond the throttle: it is told by the other channels of the policy. Show these',
    ]);
    expect([...html.matchAll(/<\/span> <span class="soft">throttled<\/span>/g)]).toHaveLength(3);
    expect(html).toContain('href="/?throttled=yes"');
    expect(html).not.toMatch(/\b(aa|bb)\b/);
  });

  it('says nothing of one where nothing was throttled, of what no ticket caused, and of whom nobody knows any more', () => {
    expect(linesOf(shown([row(1), row(2, { throttled: true, category: null }), row(3, { throttled: true, recipient: null })]))).toEqual([]);
  });

  it('keeps the filter as it is looked through', () => {
    const html = shown([row(1, { throttled: true })], true);
    expect(html).toMatch(/<option value="yes" selected>/);
    expect(html).not.toContain('Show these');
    expect(shown([], true)).toContain('None fits');
  });
});
