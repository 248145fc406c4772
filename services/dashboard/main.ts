import { processEnvironment, readEngineConfig } from '../../shared/config/engine-config.ts';
import { readTogether } from '../../shared/config/environment.ts';
import { readDashboardConfig } from '../../shared/config/intake-config.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { startOrExplain } from '../../shared/telemetry/run-until-signal.ts';
import { startDashboard } from './dashboard.ts';

await startOrExplain(async () => {
  const env = processEnvironment();
  const { config, engineConfig } = readTogether({ config: () => readDashboardConfig(env), engineConfig: () => readEngineConfig(env) });
  const runtime = await openRuntime(engineConfig, 'dashboard');
  const dashboard = await startDashboard({ engine: runtime.engine, queue: runtime.queue, config, log: runtime.log });
  runtime.log.info({ event: EVENTS.started, url: dashboard.url, pid: process.pid });
  return async () => {
    await dashboard.close();
    await runtime.close();
  };
});
