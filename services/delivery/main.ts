import { processEnvironment, readEngineConfig } from '../../shared/config/engine-config.ts';
import { readDeliveryConfig, readTransportConfig } from '../../shared/config/worker-config.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { startOrExplain } from '../../shared/telemetry/run-until-signal.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { startDelivery } from './delivery.ts';

await startOrExplain(async () => {
  const env = processEnvironment();
  const config = readEngineConfig(env);
  const { channel, concurrency } = readDeliveryConfig(env);
  const transportConfig = readTransportConfig(env);
  const runtime = await openRuntime(config, `delivery-${channel}`);
  const transport = openTransport(channel, { ...transportConfig, now: runtime.engine.now });
  const worker = startDelivery({
    ...runtime, channel, transport, concurrency, submitStartWithinMs: config.submitStartWithinMs, providerTimeoutMs: config.providerTimeoutMs,
    actor: `delivery-${channel}-${process.pid}`,
  });
  runtime.log.info({ event: EVENTS.started, channel, pid: process.pid });
  return async () => {
    await worker.close(config.providerTimeoutMs);
    await transport.close();
    await runtime.close();
  };
});
