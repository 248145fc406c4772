import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { openPart } from '../../shared/delivery/payload.ts';
import { reportToken, sendReportCode } from '../../shared/delivery/report-links.ts';
import { contrastOf, describeInBrowser, isTooWide, keepPicture, openPage, smallTargets } from '../support/browser.ts';
import type { Look } from '../support/browser.ts';
import { acceptReport, storeReport } from '../support/reports.ts';
import { openIntakePages } from './intake-pages.ts';

const LOOKS: Look[] = [{ width: 375, scheme: 'light', javaScript: false }, { width: 1280, scheme: 'dark', javaScript: true }];

describeInBrowser('the page behind a link to a report', () => {
  const { rig, url, browser } = openIntakePages(30_000);

  test.each(LOOKS)('leads from the link to the file at $width px, $scheme, JavaScript $javaScript, past a wrong code', async (look) => {
    const bytes = randomBytes(100_000);
    const eventId = await acceptReport(rig().engine, await storeReport(rig().engine, bytes), { sms: '+12025550101', email: `p${look.width}@example.com` });
    const token = reportToken(rig().engine.ring, eventId, 'email');
    // Made first, so that it is known: the page's own asking comes too soon after it for another.
    const carrier = await sendReportCode(rig().engine, token, 'r') as string;
    const { context, page, complaints } = await openPage(browser(), look);
    await page.goto(`${url()}/reports/${token}`);
    expect([await isTooWide(page, look.width), await smallTargets(page)]).toEqual([false, []]);
    await page.click('text=Send me a code');
    expect(await page.textContent('[role=status]')).toContain('a code is on its way');
    const secrets = (await rig().engine.load(carrier))?.secrets as { keyId: string; box: Buffer };
    const { code } = openPart<{ values: { code: string } }>(rig().engine.ring, carrier, 'secrets', secrets).values;
    await page.fill('#code', code === '000000' ? '000001' : '000000');
    await page.click('text=Open the report');
    expect(await page.textContent('[role=status]')).toContain('That did not open it');
    expect(await contrastOf(page, '.state.bad')).toBeGreaterThanOrEqual(4.5);
    await keepPicture(page, `report-${look.width}-${look.scheme}`);
    await page.fill('#code', code);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Open the report')]);
    expect(download.suggestedFilename()).toBe('report.pdf');
    expect((await readFile(await download.path())).equals(bytes)).toBe(true);
    // The browser itself notes that the wrong code's page is a 403.
    expect(complaints.filter((one) => !one.includes('403'))).toEqual([]);
    await context.close();
  });
});
