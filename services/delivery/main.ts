import { processEnvironment, readEngineConfig } from '../../shared/config/engine-config.ts';
import { readTogether } from '../../shared/config/environment.ts';
import { readMetricsConfig } from '../../shared/config/metrics-config.ts';
import { readDeliveryConfig, readTransportConfig } from '../../shared/config/worker-config.ts';
import { startMetricsServer } from '../../shared/http/metrics-server.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { startOrExplain } from '../../shared/telemetry/run-until-signal.ts';
import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';
import { startDelivery } from './delivery.ts';

await startOrExplain(async () => {
  const env = processEnvironment();
  const { config, delivery: { channel, concurrency }, transportConfig, metricsConfig } = readTogether({
    config: () => readEngineConfig(env), delivery: () => readDeliveryConfig(env), transportConfig: () => readTransportConfig(env), metricsConfig: () => readMetricsConfig(env),
  });
  const runtime = await openRuntime(config, `delivery-${channel}`);
  const [transport] = openThreadedTransports([channel], { ...transportConfig, now: runtime.engine.now });
  const worker = startDelivery({
    ...runtime, channel, transport, concurrency, submitStartWithinMs: config.submitStartWithinMs, providerTimeoutMs: config.providerTimeoutMs,
    actor: `delivery-${channel}-${process.pid}`,
  });
  const metrics = metricsConfig && await startMetricsServer({ ...metricsConfig, scrape: runtime.engine.metrics.scrape });
  runtime.log.info({ event: EVENTS.started, metrics: metrics?.url, channel, pid: process.pid });
  return async () => {
    await worker.close(config.providerTimeoutMs);
    await transport.close();
    await metrics?.close();
    await runtime.close();
  };
});
