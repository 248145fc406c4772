import { readAlertConfig } from '../../shared/config/alert-config.ts';
import { readCheckpointFile } from '../../shared/config/checkpoint-config.ts';
import { readTogether } from '../../shared/config/environment.ts';
import { readErasureFile } from '../../shared/config/erasure-config.ts';
import { processEnvironment, readEngineConfig } from '../../shared/config/engine-config.ts';
import { readMetricsConfig } from '../../shared/config/metrics-config.ts';
import { readCoordinatorConfig, readTransportConfig } from '../../shared/config/worker-config.ts';
import { startMetricsServer } from '../../shared/http/metrics-server.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import { CHANNELS } from '../../shared/domain/words.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { startOrExplain } from '../../shared/telemetry/run-until-signal.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { openReceivers } from '../../shared/transports/alerts/open-receivers.ts';
import { startCoordinator } from './coordinator.ts';

await startOrExplain(async () => {
  const env = processEnvironment();
  const { config, polling, transportConfig, metricsConfig, alertConfig } = readTogether({
    config: () => readEngineConfig(env), polling: () => readCoordinatorConfig(env), transportConfig: () => readTransportConfig(env),
    metricsConfig: () => readMetricsConfig(env), alertConfig: () => readAlertConfig(env),
  });
  const runtime = await openRuntime(config, 'coordinator');
  const transports = CHANNELS.map((channel) => openTransport(channel, { ...transportConfig, now: runtime.engine.now }));
  const alerts = { receivers: openReceivers(alertConfig), links: { dashboardUrl: config.dashboardUrl, runbookUrl: alertConfig.runbookUrl }, heartbeatUrl: alertConfig.heartbeatUrl };
  const coordinator = startCoordinator({ ...runtime, alerts, transports, ...polling, providerTimeoutMs: config.providerTimeoutMs, actor: `coordinator-${process.pid}`, checkpointFile: readCheckpointFile(env), erasureFile: readErasureFile(env) });
  const metrics = metricsConfig && await startMetricsServer({ ...metricsConfig, scrape: runtime.engine.metrics.scrape });
  runtime.log.info({ event: EVENTS.started, metrics: metrics?.url, pid: process.pid });
  return async () => {
    await coordinator.close();
    await Promise.all(transports.map((transport) => transport.close()));
    await metrics?.close();
    await runtime.close();
  };
});
