import { existsSync, mkdirSync } from 'node:fs';
import { describe } from '@jest/globals';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const found = process.env.CHROMIUM_PATH ?? PATHS.find((path) => existsSync(path));

/** Runs the tests where a Chromium is found; skipped by name elsewhere, an error under REQUIRE_BROWSER=1. */
export const describeInBrowser = (name: string, tests: () => void): void => {
  if (found) return describe(name, tests);
  if (process.env.REQUIRE_BROWSER === '1') throw new Error('REQUIRE_BROWSER=1, but no Chromium was found; install it or set CHROMIUM_PATH');
  describe.skip(`${name}: SKIPPED, there is no Chromium`, tests);
};

/** A headless browser that asks nobody but the page. */
export const launchBrowser = (): Promise<Browser> => chromium.launch({
  executablePath: found as string,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

export interface Look { width: number; scheme: 'light' | 'dark'; javaScript: boolean }

/** A page that collects what the console complains of. */
export const openPage = async (browser: Browser, look: Look, credentials?: { username: string; password: string }): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> => {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 }, colorScheme: look.scheme, javaScriptEnabled: look.javaScript, ...(credentials ? { httpCredentials: credentials } : {}),
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { context, page, complaints };
};

/** Whether the page is wider than its window. */
export const isTooWide = async (page: Page, width: number): Promise<boolean> => {
  const box = await page.locator('body').evaluate((body) => body.ownerDocument.documentElement.scrollWidth).catch(() => null);
  return box !== null && box > width;
};

/** Keeps a picture for people to look at. */
export const keepPicture = async (page: Page, name: string): Promise<void> => {
  mkdirSync('test-output/pictures', { recursive: true });
  await page.screenshot({ path: `test-output/pictures/${name}.png`, fullPage: true });
};
