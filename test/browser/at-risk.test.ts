import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { openPair } from '../alerts/support.ts';
import type { Pair } from '../alerts/support.ts';
import { describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage, smallTargets } from '../support/browser.ts';
import { silentLog } from '../support/test-engine.ts';

const OPERATOR = { user: 'operator', password: 'correct:horse' };

describeInBrowser('what is at risk, in a browser', () => {
  let pair: Pair;
  let dashboard: RunningDashboard;
  let browser: Browser;
  let eventId = '';
  beforeAll(async () => {
    pair = await openPair();
    dashboard = await startDashboard({ engine: pair.engines[0], log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: OPERATOR } });
    browser = await launchBrowser();
    eventId = await pair.accept();
    await pair.accept();
    await pair.pass(8 * 60_000);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    await pair?.close();
  });

  test.each([{ width: 375, scheme: 'dark' as const }, { width: 1280, scheme: 'light' as const }])('is found from any page, searched and followed to the notification, without script, at $width px', async (look) => {
    const { context, page, complaints } = await openPage(browser, { ...look, javaScript: false }, { username: OPERATOR.user, password: OPERATOR.password });
    await page.goto(dashboard.url);
    await page.click('nav >> text=At risk');
    expect(await page.textContent('#count')).toBe('4 findings.');
    expect(await page.locator('tbody tr').count()).toBe(4);
    expect([await isTooWide(page, look.width), await smallTargets(page)]).toEqual([false, []]);
    await keepPicture(page, `at-risk-${look.width}`);
    await page.fill('#q', eventId);
    await page.click('button[type=submit]');
    expect(await page.textContent('#count')).toBe('2 findings.');
    await page.click(`a[href="/notifications/${eventId}"] >> nth=0`);
    expect(page.url()).toBe(`${dashboard.url}/notifications/${eventId}`);
    await page.goto(`${dashboard.url}/at-risk?q=nobody`);
    expect(await page.textContent('main')).toContain('Nothing is found of it now.');
    expect(complaints).toEqual([]);
    await context.close();
  });
});
