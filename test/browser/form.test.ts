import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startStandalone } from '../../services/standalone/standalone.ts';
import type { RunningStandalone } from '../../services/standalone/standalone.ts';
import { contrastOf, describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage, smallTargets } from '../support/browser.ts';
import type { Look } from '../support/browser.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const LOOKS: Look[] = [
  { width: 375, scheme: 'light', javaScript: false }, { width: 375, scheme: 'dark', javaScript: true },
  { width: 1280, scheme: 'light', javaScript: true }, { width: 1280, scheme: 'dark', javaScript: false },
];

describeInBrowser('a player in a browser', () => {
  let database: TestDatabase;
  let dataDir: string;
  let standalone: RunningStandalone;
  let browser: Browser;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-browser-'));
    const ports = { INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0' };
    standalone = await startStandalone(ports, { dataDir, databaseUrl: database.url, redisUrl: undefined, logLevel: 'silent' }, () => undefined);
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await standalone.close();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  test.each(LOOKS)('posts the form and reads the receipt, at $width px, $scheme, JavaScript $javaScript', async (look) => {
    const { context, page, complaints } = await openPage(browser, look);
    const name = `${look.width}-${look.scheme}${look.javaScript ? '' : '-no-js'}`;
    await page.goto(standalone.file.intake);
    expect(await isTooWide(page, look.width)).toBe(false);
    expect(await smallTargets(page)).toEqual([]);
    for (const place of ['label', '.hint', '.choice .soft', 'button']) expect({ place, enough: await contrastOf(page, place) >= 4.5 }).toEqual({ place, enough: true });
    await keepPicture(page, `form-${name}`);
    await page.selectOption('[name=category]', 'payment_lockout');
    await page.selectOption('[name=region]', 'US');
    await page.check('[name=on_call][value="oncall-01"]');
    await page.fill('[name=message]', '<b>locked</b> out 😭');
    await page.fill('[name=player_ref]', `p-${name}`);
    await page.click('button[type=submit]');
    await page.waitForURL(/\/receipts\//);
    expect(await page.textContent('body')).toContain('evt_');
    expect(await page.locator('b', { hasText: 'locked' }).count()).toBe(0);
    expect(await isTooWide(page, look.width)).toBe(false);
    await keepPicture(page, `receipt-${name}`);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('is shown what is wrong with the form, and keeps what was typed', async () => {
    const { context, page } = await openPage(browser, { width: 375, scheme: 'light', javaScript: false });
    await page.goto(standalone.file.intake);
    await page.selectOption('[name=category]', 'bug_report');
    await page.selectOption('[name=region]', 'EU');
    await page.fill('[name=message]', 'what I typed');
    await page.fill('[name=player_ref]', 'p-9');
    await page.locator('[name="contact.email"], [name="contact[email]"]').fill('player@nowhere');
    await page.click('button[type=submit]');
    expect(await page.inputValue('[name=message]')).toBe('what I typed');
    expect(await page.textContent('body')).toMatch(/email/i);
    // The summary has the focus, and leads to the field.
    expect(await page.evaluate('document.activeElement.className')).toBe('banner');
    for (const place of ['.banner a', '.fault']) expect({ place, enough: await contrastOf(page, place) >= 4.5 }).toEqual({ place, enough: true });
    await keepPicture(page, 'form-with-a-fault');
    await page.click('.banner a');
    expect(page.url()).toMatch(/#field-contact-email$/);
    await context.close();
  });

  test.each(LOOKS)('an operator reads ticket, notification and inbox, at $width px, $scheme, JavaScript $javaScript', async (look) => {
    const { user, password } = standalone.file.operator;
    const { context, page, complaints } = await openPage(browser, look, { username: user, password });
    const name = `${look.width}-${look.scheme}${look.javaScript ? '' : '-no-js'}`;
    await page.goto(standalone.file.dashboard);
    await keepPicture(page, `dashboard-${name}`);
    await page.locator('a[href*="/tickets/evt_"]').first().click();
    expect(await page.textContent('body')).toContain('<b>locked</b>');
    await keepPicture(page, `ticket-${name}`);
    expect(await isTooWide(page, look.width)).toBe(false);
    await page.locator('a[href*="/notifications/evt_"]').first().click();
    expect(await page.textContent('body')).toContain('NotificationAccepted');
    expect(await isTooWide(page, look.width)).toBe(false);
    await keepPicture(page, `notification-${name}`);
    await page.goto(standalone.file.sandbox);
    expect(await smallTargets(page)).toEqual([]);
    for (const place of ['.soft', '.delivered', 'section a', 'footer']) expect({ place, enough: await contrastOf(page, place) >= 4.5 }).toEqual({ place, enough: true });
    expect(await isTooWide(page, look.width)).toBe(false);
    await keepPicture(page, `inbox-${name}`);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
