import { expect, test } from '@jest/globals';
import { unsubscribeToken } from '../../shared/delivery/unsubscribe.ts';
import { contrastOf, describeInBrowser, isTooWide, keepPicture, openPage, smallTargets } from '../support/browser.ts';
import type { Look } from '../support/browser.ts';
import { openIntakePages } from './intake-pages.ts';

const LOOKS: Look[] = [{ width: 375, scheme: 'light', javaScript: false }, { width: 1280, scheme: 'dark', javaScript: true }];

describeInBrowser('the page behind a link to unsubscribe', () => {
  const { rig, url, browser } = openIntakePages(30_000);

  test.each(LOOKS)('unsubscribes by its one button, at $width px, $scheme, JavaScript $javaScript, and not before', async (look) => {
    const suppressed = async (): Promise<number> => Number((await rig().engine.db.pool.query("SELECT count(*) FROM suppression WHERE source = 'unsubscribe'")).rows[0].count);
    const before = await suppressed();
    const { context, page, complaints } = await openPage(browser(), look);
    await page.goto(`${url()}/unsubscribe/${unsubscribeToken(rig().engine, { tenant: 'default', email: `p${look.width}@example.com`, madeAt: Date.now() })}`);
    expect([await isTooWide(page, look.width), await smallTargets(page), await page.locator('button').count(), await suppressed()]).toEqual([false, [], 1, before]);
    await keepPicture(page, `unsubscribe-${look.width}-${look.scheme}`);
    await page.click('button');
    expect(await page.textContent('[role=status]')).toContain('You are unsubscribed');
    expect(await contrastOf(page, '.state.good')).toBeGreaterThanOrEqual(4.5);
    expect([await isTooWide(page, look.width), await suppressed(), complaints]).toEqual([false, before + 1, []]);
    await context.close();
  });
});
