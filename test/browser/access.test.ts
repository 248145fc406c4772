import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { contrastOf, describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage, smallTargets } from '../support/browser.ts';
import { makeOperator } from '../support/sign-in.ts';

const LOOKS = [{ width: 375, scheme: 'dark' as const }, { width: 1280, scheme: 'light' as const }];

describeInBrowser('signing in, in a browser', () => {
  let rig: Rig;
  let dashboard: RunningDashboard;
  let browser: Browser;
  beforeAll(async () => {
    rig = await createRig(async (url) => url, 10_000);
    await makeOperator(rig.engine, 'ada', 'admin');
    dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    await rig?.close();
  });

  test.each(LOOKS)('leads to the page that was asked for, pauses a notification, reads the trail and signs out, without script, at $width px, $scheme', async (look) => {
    const eventId = String((await postJson(`${(await rig.start()).url}/tickets`, aTicket())).body['event_id']);
    const { context, page, complaints } = await openPage(browser, { ...look, javaScript: false });
    const looksRight = async (name: string, places: string[]): Promise<void> => {
      expect([name, await isTooWide(page, look.width), await smallTargets(page)]).toEqual([name, false, []]);
      for (const place of places) expect({ name, place, enough: await contrastOf(page, place) >= 4.5 }).toEqual({ name, place, enough: true });
      await keepPicture(page, `${name}-${look.width}`);
    };
    await page.goto(`${dashboard.url}/notifications/${eventId}/act`);
    expect(new URL(page.url()).pathname).toBe('/login');
    await looksRight('login', ['h1', 'label', '.soft']);
    await page.fill('[name=name]', 'ada');
    await page.fill('[name=password]', 'not the password');
    await page.click('button[type=submit]');
    expect(await page.textContent('[role=alert]')).toBe('Name or password is wrong.');
    expect([await page.inputValue('[name=name]'), await page.inputValue('[name=password]')]).toEqual(['ada', '']);
    await looksRight('login-refused', ['[role=alert]']);
    await page.fill('[name=password]', 'correct:horse');
    await page.click('button[type=submit]');
    expect(page.url()).toBe(`${dashboard.url}/notifications/${eventId}#actions`);
    await page.click('#act-pause-summary');
    await page.fill('#act-pause-reason', 'somebody looks at it first');
    await page.click('#act-pause button.do');
    expect(await page.textContent('.done')).toMatch(/^You paused it at /);
    expect(await page.locator('form[action$="/resume"]').count()).toBe(1);
    await page.goto(`${dashboard.url}/account`);
    await looksRight('account', ['h1', 'dd', '.soft']);
    await page.click('a[href="/audit"]');
    expect(await page.textContent('table')).toContain('notification.pause');
    expect(await page.textContent('table')).not.toContain('somebody');
    await looksRight('audit', ['h1', 'td', '.soft']);
    await page.selectOption('[name=action]', 'login.failed');
    await page.click('button[type=submit]');
    expect(await page.textContent('table')).toContain('wrong password');
    await page.goto(`${dashboard.url}/account`);
    await page.click('form[action="/logout"] button');
    expect(new URL(page.url()).pathname).toBe('/login');
    await page.goto(`${dashboard.url}/audit`);
    expect(new URL(page.url()).pathname).toBe('/login');
    // The browser itself reports the 401 of a wrong password.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
    await context.close();
  }, 60_000);

  test('is kept where a link from another site leads in, as an alert\'s does', async () => {
    const { context, page } = await openPage(browser, { width: 1280, scheme: 'light', javaScript: true });
    await page.goto(`${dashboard.url}/login`);
    await page.fill('[name=name]', 'ada');
    await page.fill('[name=password]', 'correct:horse');
    await page.click('button[type=submit]');
    await page.route('http://mail.example/**', (route) => route.fulfill({ contentType: 'text/html', body: `<a id="link" href="${dashboard.url}/account">look</a><form id="foreign" method="post" action="${dashboard.url}/logout"><button>x</button></form>` }));
    await page.goto('http://mail.example/');
    await page.click('#link');
    expect(await page.textContent('h1')).toBe('Signed in as ada');
    await page.goto('http://mail.example/');
    const refused = page.waitForResponse((response) => response.url().endsWith('/logout'));
    await page.click('#foreign button');
    expect([401, 403]).toContain((await refused).status());
    await page.goto(`${dashboard.url}/account`);
    expect(await page.textContent('h1')).toBe('Signed in as ada');
    await context.close();
  }, 60_000);
});
