import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import { openPair } from '../alerts/support.ts';
import type { Pair } from '../alerts/support.ts';
import { contrastOf, describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage, smallTargets } from '../support/browser.ts';
import type { Look } from '../support/browser.ts';
import { makeOperator, signInWith } from '../support/sign-in.ts';
import { silentLog } from '../support/test-engine.ts';

/** The other way about, so that each width is seen in each scheme, with and without script. */
const OTHERS: Look[] = [{ width: 375, scheme: 'light', javaScript: true }, { width: 1280, scheme: 'dark', javaScript: false }];
const LOOKS: Look[] = [{ width: 375, scheme: 'dark', javaScript: false }, { width: 1280, scheme: 'light', javaScript: true }];

describeInBrowser('what people do to a notification, in a browser', () => {
  let pair: Pair;
  let dashboard: RunningDashboard;
  let browser: Browser;
  beforeAll(async () => {
    pair = await openPair();
    const [engine] = pair.engines;
    await makeOperator(engine, 'ada', 'admin');
    await makeOperator(engine, 'vic', 'viewer');
    dashboard = await startDashboard({ engine, log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    await pair?.close();
  });

  const looksRight = async (page: Page, name: string, { width, scheme }: Look): Promise<void> => {
    expect([name, await isTooWide(page, width), await smallTargets(page)]).toEqual([name, false, []]);
    for (const place of ['h1', 'h2', '.badge', '.soft', '.finding p', '.act summary', '.act label', '.do', '.clocks li', '.unable', '.done', '.problem']) {
      if (await page.locator(place).first().isVisible()) expect({ name, place, enough: await contrastOf(page, place) >= 4.5 }).toEqual({ name, place, enough: true });
    }
    await keepPicture(page, `${name}-${width}-${scheme}`);
  };
  const send = async (page: Page, act: string, reason: string): Promise<void> => {
    if (await page.locator(`#act-${act}`).getAttribute('open') === null) await page.click(`#act-${act}-summary`);
    await page.fill(`#act-${act}-reason`, reason);
    await page.click(`#act-${act} button.do`);
  };

  test.each(LOOKS)('from the list of what is at risk to its page: the cause is read, it is paused with its preview, resumed and closed, each in the trail, at $width px, $scheme, script: $javaScript', async (look) => {
    const eventId = await pair.accept();
    await pair.pass(8 * 60_000);
    const { context, page, complaints } = await openPage(browser, look);
    await signInWith(page, `${dashboard.url}/at-risk`, { username: 'ada', password: 'correct:horse' });
    await page.fill('#q', eventId);
    await page.click('main button[type=submit]');
    await page.click(`a[href="/notifications/${eventId}"] >> nth=0`);
    expect(await page.textContent('.finding')).toMatch(/at risk.*nothing under way can reach the recipient.*Next: /s);
    expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0);
    await looksRight(page, 'acts', look);

    await page.click('#act-pause-summary');
    expect(await page.textContent('#pause-preview')).toContain(`It would hold one notification, ${eventId}, and endanger it. First breach`);
    expect(await page.textContent('#pause-preview .clocks')).toMatch(/UTC in [67] min it expires, paused or not/);
    await page.fill('#act-pause-reason', 'x');
    await page.focus('#act-pause-reason');
    await looksRight(page, 'act-pause', look);
    await send(page, 'pause', 'call +12025550147 first, then go on');
    expect(page.url()).toBe(`${dashboard.url}/notifications/${eventId}?told=pause`);
    expect(await page.textContent('[role=status].done')).toMatch(/^You paused it at /);
    expect(await page.textContent('.standing-now')).toMatch(/Paused by ada since .* because “call \+1•••••0147 first, then go on”/);
    expect(await page.textContent('.unable')).toContain('Pause: not now; it is paused.');
    await looksRight(page, 'acts-paused', look);

    await send(page, 'resume', 'checked');
    expect(await page.textContent('.done')).toMatch(/^You resumed it at /);
    await send(page, 'close', 'reached him by phone');
    expect(await page.textContent('.standing-now')).toMatch(/Closed by ada at .* because “reached him by phone”/);
    expect(await page.locator('.act').count()).toBe(0);
    expect(await page.textContent('main')).toMatch(/What people did.*ada paused it because.*ada resumed it because checked.*ada closed it because/s);
    await looksRight(page, 'acts-closed', look);

    await page.goto(`${dashboard.url}/audit?actor=ada`);
    const trail = await page.locator('tbody tr').allTextContents();
    for (const [action, result] of [['pause', 'paused'], ['resume', 'resumed'], ['close', 'closed']] as const) {
      expect(trail.some((row) => row.includes(`notification.${action}`) && row.includes(eventId) && row.includes(result))).toBe(true);
    }
    expect(trail.join()).not.toMatch(/phone|call /);
    expect(complaints).toEqual([]);
    await context.close();
  }, 60_000);

  test('a viewer reads what may be done, the preview too, and is given no form', async () => {
    const eventId = await pair.accept();
    await pair.pass(60_000);
    for (const look of OTHERS) {
      const { context, page, complaints } = await openPage(browser, look);
      await signInWith(page, `${dashboard.url}/notifications/${eventId}`, { username: 'vic', password: 'correct:horse' });
      expect(await page.textContent('main')).toContain('Your role may look only. An operator or an administrator may do the following.');
      await page.click('#act-pause-summary');
      expect(await page.textContent('#pause-preview')).toContain('It would hold one notification');
      await looksRight(page, 'acts-viewer', look);
      for (const path of [`/notifications/${eventId}`, `/notifications/${eventId}/act`, '/reason']) {
        await page.goto(`${dashboard.url}${path}`);
        expect([path, await page.locator('form, input, button.do').count()]).toEqual([path, 0]);
      }
      expect(complaints).toEqual([]);
      await context.close();
    }
  }, 60_000);

  test('a form that somebody writes in is left alone while the page goes on, taken along where something else may be done, and refused where the page was old', async () => {
    const eventId = await pair.accept();
    const [engine] = pair.engines;
    const { context, page, complaints } = await openPage(browser, { width: 1280, scheme: 'dark', javaScript: true });
    await signInWith(page, `${dashboard.url}/notifications/${eventId}`, { username: 'ada', password: 'correct:horse' });
    await page.click('#act-pause-summary');
    await page.fill('#act-pause-reason', 'a long story');
    await page.evaluate('document.activeElement.setSelectionRange(2, 2)');
    await pair.pass(60_000);
    await page.locator('[data-live=entries]:has-text("FallbackClaimed")').waitFor({ state: 'attached' });
    expect([await page.inputValue('#act-pause-reason'), await page.evaluate('[document.activeElement.id, document.activeElement.selectionStart].join()')]).toEqual(['a long story', 'act-pause-reason,2']);
    await page.route('**/live', (route) => route.abort());
    await decideAndAppend(engine, eventId, { provenance: { actor: 'bob', requestId: 'bob-1' }, command: () => ({ kind: 'pause', reason: 'incident' }) });
    await page.click('#act-pause button.do');
    expect(await page.textContent('[role=alert]')).toMatch(/^Nothing was done: bob paused it at \d\d:\d\d:\d\d UTC, after your page was made\./);
    expect(await page.textContent('.standing-now')).toContain('Paused by bob since');
    await looksRight(page, 'acts-stale', { width: 1280, scheme: 'dark', javaScript: true });
    await page.unroute('**/live');
    await page.goto(`${dashboard.url}/notifications/${eventId}`);
    await page.click('#act-close-summary');
    await page.fill('#act-close-reason', 'somebody else took it');
    await decideAndAppend(engine, eventId, { provenance: { actor: 'bob', requestId: 'bob-2' }, command: () => ({ kind: 'resume', reason: 'done' }) });
    await page.locator('#act-pause').waitFor({ state: 'attached' });
    expect([await page.inputValue('#act-close-reason'), await page.evaluate('document.activeElement.id'), await page.locator('#act-close').getAttribute('open')]).toEqual(['somebody else took it', 'act-close-reason', '']);
    await page.click('#act-close button.do');
    expect(await page.textContent('.standing-now')).toMatch(/Closed by ada at .* because “somebody else took it”/);
    // The browser itself reports the 409, and the calls that the test kept from it.
    expect(complaints.filter((text) => !/409|ERR_FAILED/.test(text))).toEqual([]);
    await context.close();
  }, 60_000);
});
