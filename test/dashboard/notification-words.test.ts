import { expect, it } from '@jest/globals';
import { toldHtml } from '../../services/dashboard/notification-words.ts';

it('an instant of another day than the notification\'s stands with its date, one of that day as its time alone', () => {
  const shown = toldHtml('Accepted at 2026-11-29T09:12:00.500Z; it expires at 2026-11-30T09:12:00.500Z.', Date.parse('2026-11-29T09:12:00.500Z')).replace(/<[^>]+>/g, '');
  expect(shown).toBe('Accepted at 09:12:00.500; it expires at 2026-11-30 09:12:00.500.');
});
