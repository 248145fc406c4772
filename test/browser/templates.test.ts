import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { createRig } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage, smallTargets } from '../support/browser.ts';
import { signInWith } from '../support/sign-in.ts';

const OPERATOR = { user: 'operator', password: 'correct:horse' };
const LOGIN = { username: OPERATOR.user, password: OPERATOR.password };
const LOOKS = [{ width: 375, scheme: 'dark' as const }, { width: 1280, scheme: 'light' as const }];

describeInBrowser('templates in a browser', () => {
  let rig: Rig;
  let dashboard: RunningDashboard;
  let browser: Browser;
  beforeAll(async () => {
    rig = await createRig();
    dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: OPERATOR } });
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    await rig?.close();
  });

  test.each(LOOKS)('an email is shown in its own styles and may do nothing, without script, at $width px', async (look) => {
    const { context, page, complaints } = await openPage(browser, { ...look, javaScript: false });
    await signInWith(page, `${dashboard.url}/templates`, LOGIN);
    expect(await isTooWide(page, look.width)).toBe(false);
    expect(await smallTargets(page)).toEqual([]);
    await page.click('a[href="/templates/game-support-urgent-email/1"]');
    await page.selectOption('[name=locale]', 'de');
    await page.fill('[name="v.message"]', '<script>document.title = "mine"</script> & <b>now</b>');
    await page.click('button[type=submit]');
    const mail = page.frameLocator('iframe.mail');
    expect(await mail.locator('h1').textContent()).toBe('Jemand braucht sofort Hilfe.');
    expect(await mail.locator('.message').textContent()).toBe('<script>document.title = "mine"</script> & <b>now</b>');
    expect(await page.inputValue('[name="v.message"]')).toContain('<b>now</b>');
    expect(await isTooWide(page, look.width)).toBe(false);
    expect(await smallTargets(page)).toEqual([]);
    await keepPicture(page, `template-email-${look.width}`);
    await page.locator('iframe.mail').scrollIntoViewIfNeeded();
    await keepPicture(page, `template-email-frame-${look.width}`, false);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test.each(LOOKS)('an SMS is shown with what it costs, at $width px', async (look) => {
    const { context, page, complaints } = await openPage(browser, { ...look, javaScript: true });
    await signInWith(page, `${dashboard.url}/templates/game-support-urgent-sms/1`, LOGIN);
    await page.fill('[name="v.category"]', '“locked out”');
    await page.click('button[type=submit]');
    expect(await page.textContent('main')).toMatch(/Tocsin URGENT: “locked out”.*2 segments, \d+ characters, UCS-2/s);
    expect(await isTooWide(page, look.width)).toBe(false);
    await keepPicture(page, `template-sms-${look.width}`);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
