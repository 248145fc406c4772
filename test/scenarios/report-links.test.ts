import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startIntake } from '../../services/intake/intake.ts';
import type { RunningIntake } from '../../services/intake/intake.ts';
import type { MessageView } from '../../services/sandbox/views.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { fileURLToPath } from 'node:url';
import { expectAnswers } from '../support/answers.ts';
import { describeOnBackends } from '../support/backends.ts';
import { acceptReport, storeReport } from '../support/reports.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describeOnBackends('a link to a report, from message to download', (backend) => {
  let world: World;
  let intake: RunningIntake;
  beforeAll(async () => {
    world = await openWorld({ backend });
    intake = await startIntake({
      engine: world.engine, roster: loadRoster(fileURLToPath(new URL('../../policies', import.meta.url))), dashboardUrl: 'https://dashboard.example', log: world.engine.log,
      config: { host: '127.0.0.1', port: 0, publicUrl: null, demo: false, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 } },
    });
  });
  afterAll(async () => {
    await intake.close();
    await world.close();
  });

  /** The next message to that number or address, once it is there. */
  const messageTo = async (to: string, holds: (message: MessageView) => boolean): Promise<MessageView> => {
    const found = () => world.sandbox.messages().find((one) => one.to === to && holds(one));
    const waited = new Promise<void>((resolve) => { const stop = world.sandbox.onReceipt(() => { if (found()) { stop(); resolve(); } }); });
    if (!found()) await waited;
    return found() as MessageView;
  };
  const pathIn = (text: string): string => /https:\/\/tocsin\.example\.com(\/reports\/[\w-]{43})/.exec(text)?.[1] as string;
  const post = (path: string, body: unknown): Promise<Response> => fetch(`${intake.url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

  test('each channel\'s link is opened by the code that goes by the other one, and by no other link\'s', async () => {
    const bytes = randomBytes(300_000);
    const to = { sms: '+12025553950', email: 'linked@example.com' };
    await acceptReport(world.engine, await storeReport(world.engine, bytes), to);
    const bySms = pathIn((await messageTo(to.sms, (one) => (one.body ?? '').includes('/reports/'))).body ?? '');
    const byEmail = pathIn((await messageTo(to.email, (one) => (one.text ?? '').includes('/reports/'))).text ?? '');
    expect(bySms).not.toBe(byEmail);
    expect((await fetch(`${intake.url}${bySms}`)).status).toBe(200);

    await post(`${bySms}/code`, {});
    const mailed = /^(\d{6})\b/.exec((await messageTo(to.email, (one) => one.subject === 'The code for your report')).text ?? '')?.[1] as string;
    await post(`${byEmail}/code`, {});
    const texted = /^(\d{6}) opens your report/.exec((await messageTo(to.sms, (one) => (one.body ?? '').includes('opens your report'))).body ?? '')?.[1] as string;

    expect((await post(`${byEmail}/open`, { code: mailed })).status).toBe(mailed === texted ? 200 : 403);
    for (const [path, code] of [[bySms, mailed], [byEmail, texted]] as const) {
      const opened = await post(`${path}/open`, { code });
      expect([opened.status, Buffer.from(await opened.arrayBuffer()).equals(bytes)]).toEqual([200, true]);
      expect((await post(`${path}/open`, { code })).status).toBe(403);
    }
    await world.advance(60_000);
    const codes = await world.ask("SELECT event_id, (SELECT min(channel) FROM attempt a WHERE a.event_id = n.event_id) AS channel FROM notification n WHERE purpose = 'report-code'");
    expect(codes.map(({ channel }) => channel).sort()).toEqual(['email', 'sms']);
    for (const { event_id: code, channel } of codes) await expectAnswers(world, String(code), `report-code/by-${String(channel)}`);
  });

  test('a code lapses after ten minutes, with its notification', async () => {
    const to = { sms: '+12025553951', email: 'late@example.com' };
    await acceptReport(world.engine, await storeReport(world.engine, randomBytes(100)), to);
    const path = pathIn((await messageTo(to.sms, (one) => (one.body ?? '').includes('/reports/'))).body ?? '');
    await post(`${path}/code`, {});
    const code = /^(\d{6})\b/.exec((await messageTo(to.email, (one) => one.subject === 'The code for your report')).text ?? '')?.[1];
    await world.advance(10 * 60_000);
    expect((await post(`${path}/open`, { code })).status).toBe(403);
  });
});
