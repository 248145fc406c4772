import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startStandalone } from '../../services/standalone/standalone.ts';
import type { RunningStandalone } from '../../services/standalone/standalone.ts';
import { CLOCKS, writeAuditPolicies } from '../audit/audit-policies.ts';
import { contrastOf, describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage, smallTargets } from '../support/browser.ts';
import type { Look } from '../support/browser.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const NARROW: Look = { width: 375, scheme: 'dark', javaScript: true };
const WIDE: Look = { width: 1280, scheme: 'light', javaScript: true };

describeInBrowser('the timeline in a browser', () => {
  let database: TestDatabase;
  let dataDir: string;
  let standalone: RunningStandalone;
  let browser: Browser;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-timeline-'));
    const settings = {
      INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0', TOCSIN_POLICY_DIR: writeAuditPolicies(join(dataDir, 'policies')),
      SUBMIT_START_WITHIN_MS: String(CLOCKS.submitStartWithinMs), PROVIDER_TIMEOUT_MS: String(CLOCKS.providerTimeoutMs),
    };
    standalone = await startStandalone(settings, { dataDir, databaseUrl: database.url, redisUrl: undefined, logLevel: 'silent' }, () => undefined);
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await standalone?.close();
    await database?.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const login = () => ({ username: standalone.file.operator.user, password: standalone.file.operator.password });
  /** Posts the form; the page that follows is the receipt. */
  const postForm = async (page: Page, onCall: string): Promise<string> => {
    await page.goto(standalone.file.intake);
    await page.selectOption('[name=category]', 'payment_lockout');
    await page.selectOption('[name=region]', 'US');
    await page.check(`[name=on_call][value="${onCall}"]`);
    await page.fill('[name=message]', 'charged twice, locked out');
    await page.fill('[name=player_ref]', `p-${Math.random()}`);
    await page.click('button[type=submit]');
    await page.waitForURL(/\/receipts\//);
    return /evt_[0-9A-Z]{26}/.exec(await page.textContent('body') ?? '')?.[0] ?? '';
  };
  /** By default for the on-call whose SMS is never confirmed. */
  const post = async (look: Look, onCall = 'oncall-03'): Promise<string> => {
    const { context, page, complaints } = await openPage(browser, look);
    const eventId = await postForm(page, onCall);
    expect(complaints).toEqual([]);
    await context.close();
    return eventId;
  };
  const shape = (look: Look): string => (look.width < 900 ? '.tl.narrow' : '.tl.wide');

  test.each([NARROW, WIDE])('is watched live until the fallback is claimed, at $width px, $scheme, and keeps place, focus and what was unfolded', async (look) => {
    const eventId = await post(look);
    const { context, page, complaints } = await openPage(browser, look, login());
    await page.goto(`${standalone.file.dashboard}/notifications/${eventId}`);
    let loads = 0;
    page.on('load', () => { loads += 1; });
    await page.click('#entries > summary');
    await page.focus('#timeline-summary');
    const place = await page.evaluate<number>('document.activeElement.getBoundingClientRect().top');
    expect(await page.locator(`${shape(look)} .m-deadline`).count()).toBeGreaterThan(0);
    await page.waitForSelector(`${shape(look)} .claim`, { timeout: 30_000 });
    await page.waitForFunction('document.querySelector("[data-live=entries]").textContent.includes("FallbackClaimed")');
    expect(loads).toBe(0);
    expect(await page.evaluate('document.activeElement.id')).toBe('timeline-summary');
    expect(Math.abs(await page.evaluate<number>('document.activeElement.getBoundingClientRect().top') - place)).toBeLessThan(3);
    expect(await page.locator('#entries').getAttribute('open')).not.toBeNull();
    expect(await page.textContent('.told')).toContain('so email was claimed');
    expect(await page.textContent('.badge')).toMatch(/in progress|sent/);
    expect(await isTooWide(page, look.width)).toBe(false);
    expect(await smallTargets(page)).toEqual([]);
    for (const place of ['.standing-now p', '.badge', '.soft', '.told li', 'h1']) expect({ place, enough: await contrastOf(page, place) >= 4.5 }).toEqual({ place, enough: true });
    await page.click('#entries > summary');
    await keepPicture(page, `timeline-${look.width}-${look.scheme}`);
    expect(complaints).toEqual([]);
    await context.close();
  }, 60_000);

  test('is watched without JavaScript: the page loads anew by itself, until the claim stands in it', async () => {
    const look: Look = { width: 375, scheme: 'light', javaScript: false };
    const eventId = await post(look);
    const { context, page, complaints } = await openPage(browser, look, login());
    await page.goto(`${standalone.file.dashboard}/?event=${eventId}`);
    expect(page.url()).toContain(`/notifications/${eventId}`);
    await page.waitForSelector('.tl.narrow .claim', { timeout: 30_000 });
    expect(await isTooWide(page, look.width)).toBe(false);
    await keepPicture(page, 'timeline-375-light-no-js');
    await page.click('text=Stop updating');
    expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  }, 60_000);

  test('stops asking once it is settled, and the page without JavaScript stops loading anew', async () => {
    const eventId = await post(WIDE, 'oncall-01');
    const { context, page, complaints } = await openPage(browser, WIDE, login());
    await page.clock.install();
    let asked = 0;
    page.on('request', (request) => { asked += request.url().endsWith('/live') ? 1 : 0; });
    await page.goto(`${standalone.file.dashboard}/notifications/${eventId}`);
    await page.waitForSelector('#live-state:has-text("Settled")', { timeout: 30_000 });
    expect(await page.textContent('.badge')).toBe('delivered');
    const sofar = asked;
    await page.clock.fastForward(120_000);
    // Whatever was asked before this is seen before its answer.
    expect(await page.evaluate('fetch("/healthz").then(() => fetch("/healthz")).then((answer) => answer.status)')).toBe(200);
    expect(asked).toBe(sofar);
    await page.reload();
    expect(await page.locator('noscript').count()).toBe(0);
    await keepPicture(page, 'timeline-settled-1280-light');
    expect(complaints).toEqual([]);
    await context.close();
  }, 60_000);

  test('says so while the dashboard does not answer, and goes on by itself afterwards', async () => {
    const eventId = await post(WIDE);
    const { context, page } = await openPage(browser, WIDE, login());
    let away = true;
    await page.route('**/live', (route) => (away ? route.abort() : route.continue()));
    await page.goto(`${standalone.file.dashboard}/notifications/${eventId}`);
    await page.waitForSelector('#live-state:has-text("Not up to date")', { timeout: 15_000 });
    away = false;
    await page.waitForSelector('#live-state:has-text("Updates by itself")', { timeout: 30_000 });
    await context.close();
  }, 60_000);

  test('the list at both widths, its filters, and an id that is none', async () => {
    for (const look of [NARROW, WIDE]) {
      const { context, page, complaints } = await openPage(browser, look, login());
      await page.goto(standalone.file.dashboard);
      expect(await isTooWide(page, look.width)).toBe(false);
      expect(await smallTargets(page)).toEqual([]);
      await keepPicture(page, `list-${look.width}-${look.scheme}`);
      await page.selectOption('#status', 'policy_rejected');
      await page.click('button[type=submit]');
      expect(await page.textContent('main')).toContain('None fits');
      expect(complaints).toEqual([]);
      await page.fill('#event', 'evt_nonsense');
      await page.click('button[type=submit]');
      expect(await page.textContent('[role=alert]')).toContain('not an event id');
      expect(await isTooWide(page, look.width)).toBe(false);
      await context.close();
    }
  });

  test('its picture as a file stands by itself', async () => {
    const eventId = await post(WIDE);
    const { context, page, complaints } = await openPage(browser, WIDE, login());
    await page.goto(`${standalone.file.dashboard}/notifications/${eventId}/timeline.svg`);
    await page.screenshot({ path: 'test-output/pictures/timeline-file.png' });
    expect((await readFile('test-output/pictures/timeline-file.png')).length).toBeGreaterThan(2_000);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
