import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { describeInBrowser, isTooWide, keepPicture, launchBrowser, openPage } from '../support/browser.ts';
import { signInWith } from '../support/sign-in.ts';
import { untiringPolicies, silentLog } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

/** The SMS alone, tried once: where the provider cannot be reached it is a dead letter at once. */
const smsOnce = (): Policy[] => untiringPolicies().map((policy) => ({ ...policy, steps: policy.steps.slice(0, 1).map((step) => ({ ...step, transportRetry: { ...step.transportRetry, maxSubmissions: 1 } })) }));

const LOGIN = { username: 'operator', password: 'correct:horse' };

describeInBrowser('an operator on the board', () => {
  let world: World;
  let dashboard: RunningDashboard;
  let browser: Browser;
  beforeAll(async () => {
    world = await openWorld({ backend: { kind: 'postgres' }, policies: smsOnce() });
    dashboard = await startDashboard({ engine: world.engine, queue: world.queue, log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: { user: LOGIN.username, password: LOGIN.password } } });
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    await world?.close();
  });

  const until = async (holds: () => Promise<boolean>): Promise<void> => { while (!(await holds())) await world.coordinator.attendDeadLetters(); };
  const onBoard = async (): Promise<number> => (await world.queue.counts())['sms-dead-letter'].failed;

  test.each([375, 1280])('finds a dead letter, is refused without a reason, retries it with one, and sees it delivered, at %i px', async (width) => {
    await world.sandbox.setOutage('sms', 'closed', 3_600_000);
    const eventId = await world.accept('01');
    await until(async () => (await onBoard()) === 1 && (await world.ask('SELECT 1 FROM dead_letter WHERE event_id = $1 AND projected', [eventId])).length === 1);
    await world.sandbox.setOutage('sms', 'off');
    const [{ id }] = await world.ask('SELECT id FROM dead_letter WHERE event_id = $1', [eventId]) as [{ id: string }];
    const { context, page, complaints } = await openPage(browser, { width, scheme: width === 375 ? 'dark' : 'light', javaScript: true });
    await signInWith(page, `${dashboard.url}/`, LOGIN);

    // From the tab of all states as from that of the failed ones.
    await page.goto(`${dashboard.url}/queues/queue/sms-dead-letter${width === 375 ? '' : '?status=failed'}`);
    await page.getByText('retries_exhausted').first().waitFor();
    expect(await isTooWide(page, width)).toBe(false);
    await keepPicture(page, `board-${width}`);
    // The board's buttons have pictures and no names; the first of a job's is Retry, and it asks whether one is sure.
    const retry = page.locator('button[class^="button-GXX8BV"]').first();
    await retry.waitFor();
    expect(complaints).toEqual([]);

    const refused = page.waitForResponse((response) => response.url().endsWith('/retry'));
    await retry.click();
    await page.getByRole('button', { name: 'Confirm' }).click();
    expect((await refused).status()).toBe(403);
    await page.getByText(/Say why first/).first().waitFor();
    await keepPicture(page, `board-refused-${width}`);
    // The browser itself reports a 403; nothing else is complained of.
    expect(complaints.filter((text) => !text.includes('403'))).toEqual([]);

    await page.goto(`${dashboard.url}/reason`);
    await page.fill('[name=reason]', 'the provider had been away');
    await keepPicture(page, `reason-${width}`);
    expect(await isTooWide(page, width)).toBe(false);
    await page.click('button[type=submit]:not([name=forget])');
    await page.waitForURL(/\/queues/);
    await page.goto(`${dashboard.url}/queues/queue/sms-dead-letter/dead-letter-${id}-s0`);
    await retry.waitFor();
    const asked = page.waitForResponse((response) => response.url().endsWith('/retry'));
    await retry.click();
    await page.getByRole('button', { name: 'Confirm' }).click();
    expect((await asked).status()).toBe(204);

    await world.until(eventId, (state) => state.attempts[1]?.state === 'submitted' || state.attempts[1]?.state === 'delivered');
    await world.advance(10_000);
    await page.goto(`${dashboard.url}/notifications/${eventId}`);
    expect(await page.textContent('body')).toContain('delivered');
    await keepPicture(page, `after-retry-${width}`);
    expect(await world.status(eventId)).toBe('delivered');
    await until(async () => (await onBoard()) === 0);
    await context.close();
  }, 60_000);
});
