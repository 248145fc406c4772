import { processEnvironment, readEngineConfig } from '../../shared/config/engine-config.ts';
import { readTogether } from '../../shared/config/environment.ts';
import { readIntakeConfig } from '../../shared/config/intake-config.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { startOrExplain } from '../../shared/telemetry/run-until-signal.ts';
import { startIntake } from './intake.ts';

await startOrExplain(async () => {
  const env = processEnvironment();
  const { engineConfig, config } = readTogether({ engineConfig: () => readEngineConfig(env), config: () => readIntakeConfig(env) });
  const roster = loadRoster(engineConfig.policyDir);
  const runtime = await openRuntime(engineConfig, 'intake');
  const intake = await startIntake({ engine: runtime.engine, roster, config, dashboardUrl: engineConfig.dashboardUrl, log: runtime.log });
  runtime.log.info({ event: EVENTS.started, url: intake.url, pid: process.pid });
  return async () => {
    await intake.close();
    await runtime.close();
  };
});
