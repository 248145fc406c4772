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

/** A page that collects what the console complains of. With credentials it reads the dashboard as a program does; `signInWith` signs in as a person. */
export const openPage = async (browser: Browser, look: Look, credentials?: { username: string; password: string }): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> => {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 }, colorScheme: look.scheme, javaScriptEnabled: look.javaScript, ...(credentials ? { extraHTTPHeaders: { Authorization: `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}` } } : {}),
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

/** Keeps a picture for people to look at: of the whole page, or of what the window shows. */
export const keepPicture = async (page: Page, name: string, fullPage = true): Promise<void> => {
  mkdirSync('test-output/pictures', { recursive: true });
  await page.screenshot({ path: `test-output/pictures/${name}.png`, fullPage });
};

/** Links, buttons and fields lower than 44 px, by their text; links within a sentence, or in a table before a mouse, are text. */
export const smallTargets = (page: Page): Promise<string[]> => page.evaluate(`[...document.querySelectorAll('a, button, input:not([type=hidden], [type=radio]), select, summary')]
  .filter((one) => one.getClientRects().length > 0 && !one.closest(innerWidth < 700 ? 'p, li' : 'p, li, td') && one.getBoundingClientRect().height < 43.5)
  .map((one) => (one.textContent || one.name) + ' ' + one.getBoundingClientRect().height)`);

/** The contrast of the first element's text with what is behind it, as WCAG 2 counts it (1 to 21). */
export const contrastOf = (page: Page, selector: string): Promise<number> => page.evaluate(`(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const one = document.querySelector(${JSON.stringify(selector)});
  let behind = one;
  while (behind && (rgb(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const [a, b] = [light(rgb(getComputedStyle(one).color)), light(behind ? rgb(getComputedStyle(behind).backgroundColor) : [255, 255, 255])];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})()`);
