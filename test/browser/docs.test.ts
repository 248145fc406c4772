import { expect, test } from '@jest/globals';
import { describeInBrowser, isTooWide, keepPicture, openPage } from '../support/browser.ts';
import type { Look } from '../support/browser.ts';
import { openIntakePages } from './intake-pages.ts';

const LOOKS: Look[] = [
  { width: 375, scheme: 'light', javaScript: false }, { width: 375, scheme: 'dark', javaScript: true },
  { width: 1280, scheme: 'light', javaScript: true }, { width: 1280, scheme: 'dark', javaScript: false },
];

describeInBrowser('the page about the API', () => {
  const { url, browser } = openIntakePages();

  test.each(LOOKS)('is readable at $width px, $scheme, JavaScript $javaScript, with every example open', async (look) => {
    const { context, page, complaints } = await openPage(browser(), look);
    await page.goto(`${url()}/docs`);
    expect(await isTooWide(page, look.width)).toBe(false);
    await page.click('#sendNotification details:first-of-type summary');
    expect(await page.textContent('#sendNotification pre')).toContain('"purpose": "game-support-urgent"');
    expect(await isTooWide(page, look.width)).toBe(false);
    await page.click('nav a[href="#closeNotification"]');
    expect(page.url()).toMatch(/#closeNotification$/);
    await keepPicture(page, `docs-${look.width}-${look.scheme}`);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
