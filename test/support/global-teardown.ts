import { rm } from 'node:fs/promises';
import type { TestBackends } from './global-setup.ts';

/** Stops what the setup started; no process and no folder of it stays. */
export default async function tearDown(): Promise<void> {
  const backends = (globalThis as { [key: symbol]: TestBackends | undefined })[Symbol.for('tocsin.test.backends')];
  if (!backends) return;
  await Promise.all([backends.redis?.stop(), backends.postgres.stop()]);
  await rm(backends.folder, { recursive: true, force: true });
}
