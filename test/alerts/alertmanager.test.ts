import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import type { Coordinator } from '../../services/coordinator/coordinator.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { createAlertmanager } from '../../shared/transports/alerts/alertmanager.ts';
import { describeWithAlertTools, openAlertmanager, openListener } from '../support/alert-tools.ts';
import type { Heard, Listener, RunningAlertmanager } from '../support/alert-tools.ts';
import { eventually } from '../queue/rig.ts';
import { describeOnBackends } from '../support/backends.ts';
import { sandboxProviders } from '../support/sandbox-providers.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const MINUTE = 60_000;
interface Told { status: string; labels: Record<string, string> }
const toldIn = ({ body }: Heard): Told[] => (JSON.parse(body) as { alerts: Told[] }).alerts;

describeWithAlertTools('a real Alertmanager', () => {
  describeOnBackends('with two coordinators', (backend) => {
    let world: World;
    let second: Coordinator;
    let transports: Transport[] = [];
    let listener: Listener;
    let alertmanager: RunningAlertmanager;
    const tick = () => Promise.all([world.coordinator, second].map((one) => one.alerts?.tick()));
    /** What Alertmanager told its own receiver of one notification, in order. */
    const heardOf = (eventId: string): string[] => listener.heard.flatMap(toldIn).filter(({ labels }) => labels['event_id'] === eventId).map(({ status }) => status);
    const sweepFor = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 30_000) {
        world.jump(30_000);
        await world.coordinator.sweep();
      }
    };

    beforeAll(async () => {
      listener = await openListener();
      alertmanager = await openAlertmanager(listener.url);
      // In the past, so that what ends by the world's clock has ended by Alertmanager's too.
      const alerts = { receivers: [createAlertmanager(alertmanager.url)], links: { dashboardUrl: 'https://dashboard.example', runbookUrl: 'https://runbooks.example' }, heartbeatUrl: null };
      world = await openWorld({ backend, startAt: Date.now() - 12 * MINUTE, alerts });
      transports = (['sms', 'email'] as const).map((channel) => openTransport(channel, { ...sandboxProviders(world.sandbox, { sms: 'twilio', email: 'smtp' }), timeoutMs: 1_000, now: world.now }));
      second = startCoordinator({ engine: world.engine, queue: world.queue, relay: world.relay, transports, actor: 'coordinator-2', pollConcurrency: 1, providerTimeoutMs: 1_000, alerts });
    }, 60_000);
    afterAll(async () => {
      await second?.close();
      await Promise.all(transports.map((transport) => transport.close()));
      await world?.close();
      await alertmanager?.close();
      await listener?.close();
    });

    test('nothing fires for a provider that is slow inside its deadline; the control, of which nothing can be sent, raises one alert with everything in it, and its end', async () => {
      // The SMS of this one is accepted, and not confirmed before the fallback.
      const slow = await world.accept('03');
      await world.until(slow, (state) => state.attempts[0]?.state === 'submitted');
      await world.advance(25_000);
      await tick();
      expect([await alertmanager.alerts(), await world.ask('SELECT count(*)::int AS n FROM alert')]).toEqual([[], [{ n: 0 }]]);
      await world.advance(10_000);
      await world.until(slow, (state) => state.attempts[1]?.state === 'submitted');

      await world.takeQueueAway();
      const endangered = await world.accept('01');
      await sweepFor(8 * MINUTE);
      await tick();
      await tick();
      const pages = (await alertmanager.alerts()).filter(({ labels }) => labels['severity'] === 'page');
      expect(pages).toEqual([expect.objectContaining({
        labels: { alertname: 'TocsinNotificationAtRisk', severity: 'page', service: 'tocsin', purpose: 'game-support-urgent', event_id: endangered, region: 'US', urgency: 'urgent' },
        annotations: {
          summary: expect.stringContaining(endangered), event_id: endangered, purpose: 'game-support-urgent, policy version 2', channels: 'sms 1: cancelled (superseded); email 1: queued', last_status_read: 'none',
          deadline: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/), time_to_deadline: expect.stringMatching(/^\d min \d+ s$/), next_action: expect.stringContaining('look to the queue'),
          runbook: 'docs/runbooks/at-risk.md', runbook_url: 'https://runbooks.example/at-risk.md', page: `https://dashboard.example/notifications/${endangered}`,
        },
        generatorURL: `https://dashboard.example/notifications/${endangered}`, status: expect.objectContaining({ state: 'active' }),
      })]);
      await listener.until(1, (one) => toldIn(one).some(({ labels }) => labels['event_id'] === endangered));
      expect(await world.ask(`SELECT count(*)::int AS n FROM alert WHERE kind = 'at_risk'`)).toEqual([{ n: 1 }]);

      await world.giveQueueBack();
      world.jump(30_000);
      await world.coordinator.sweep();
      await eventually(() => world.relay.drain());
      await world.until(endangered, (state) => state.attempts[1]?.state === 'submitted');
      world.jump(6_000);
      await tick();
      await tick();
      await listener.until(1, (one) => toldIn(one).some(({ labels, status }) => labels['event_id'] === endangered && status === 'resolved'));
      expect(heardOf(endangered)).toEqual(['firing', 'resolved']);
      expect((await alertmanager.alerts()).filter(({ labels }) => labels['event_id'] !== undefined)).toEqual([]);
      expect(heardOf(slow)).toEqual([]);
    }, 90_000);
  });
});
