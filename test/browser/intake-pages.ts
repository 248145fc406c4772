import { afterAll, beforeAll } from '@jest/globals';
import type { Browser } from 'playwright-core';
import type { Rig } from '../intake/rig.ts';
import { createRig } from '../intake/rig.ts';
import { launchBrowser } from '../support/browser.ts';

export interface IntakePages { rig: () => Rig; url: () => string; browser: () => Browser }

/** An intake and a browser, opened and closed around the tests of one describe. `connectTimeoutMs`: as for the rig. */
export const openIntakePages = (connectTimeoutMs?: number): IntakePages => {
  let rig: Rig;
  let url = '';
  let browser: Browser;
  beforeAll(async () => {
    rig = await createRig(undefined, connectTimeoutMs);
    ({ url } = await rig.start());
    browser = await launchBrowser();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await rig?.close();
  });
  return { rig: () => rig, url: () => url, browser: () => browser };
};
