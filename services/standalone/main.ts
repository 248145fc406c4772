import { processEnvironment } from '../../shared/config/engine-config.ts';
import { readStandaloneConfig } from '../../shared/config/standalone-config.ts';
import { runUntilSignal } from '../../shared/telemetry/run-until-signal.ts';
import { ensureDataDir, removeStandaloneFileNow } from './data-dir.ts';
import { acquireOwnerLock } from './owner-lock.ts';
import { readyBanner } from './ready-banner.ts';
import { startStandalone } from './standalone.ts';

const say = (line: string): void => { process.stdout.write(`${line}\n`); };

try {
  const startedAt = performance.now();
  const env = processEnvironment();
  const config = readStandaloneConfig(env);
  await ensureDataDir(config.dataDir);
  const lock = await acquireOwnerLock(config.dataDir);
  if ('heldBy' in lock) {
    const { pid, since, url } = lock.heldBy;
    process.stderr.write(`Tocsin is already running on ${config.dataDir}: process ${pid} since ${since}${url ? `, intake ${url}` : ''}.\nStop it first, or set TOCSIN_DATA_DIR to another folder (and the ports to free ones).\n`);
    process.exit(2);
  }
  process.once('exit', () => removeStandaloneFileNow(config.dataDir));
  const starting = startStandalone(env, config, say);
  // A signal that comes while it starts is obeyed once what was begun can be undone.
  runUntilSignal(async () => {
    await starting.then((running) => running.close(), () => undefined);
    await lock.release();
    say('Stopped.');
  }, 30_000);
  const { file, queueAnswers } = await starting.catch(async (error: unknown) => {
    await lock.release();
    throw error;
  });
  say(readyBanner(file, { seconds: (performance.now() - startedAt) / 1000, queueAnswers }));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  const cure = code === 'EADDRINUSE' ? '\nStop what listens there, or set INTAKE_PORT, DASHBOARD_PORT, SANDBOX_PORT or SANDBOX_SMTP_PORT (0 takes any free port).' : '';
  process.stderr.write(`Tocsin did not start: ${message}${cure}\n`);
  process.exit(1);
}
