import { fileURLToPath } from 'node:url';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { publishVersions } from '../../shared/ledger/versions.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { createMetrics } from '../../shared/telemetry/metrics.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { openClient } from './open-client.ts';
import type { ClockedEngine } from './lives.ts';

/** A database of its own with the product's engine on it, whose clock the caller moves. */
export interface HistoryDatabase extends ClockedEngine {
  name: string;
  /** The owner's URL. */
  url: string;
  close: () => Promise<void>;
}

const shipped = (folder: string): string => fileURLToPath(new URL(`../../${folder}`, import.meta.url));
const SENDER = { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' };

/** A history has one phone, which the shipped throttle would spare. */
const untiring = (policies: Policy[]): Policy[] => policies.map((policy) => ({ ...policy, steps: policy.steps.map((shippedStep) => { const step = { ...shippedStep }; delete step.throttle; return step; }) }));

/** The product's engine on a migrated database, with the shipped policies (but for their throttles) and templates published. */
export const openClocked = async (url: string, { poolSize = 3, keys = generateKeyRingText() }: { poolSize?: number | undefined; keys?: string | undefined } = {}): Promise<ClockedEngine & { keys: string; close: () => Promise<void> }> => {
  const db = openDatabase({ url, poolSize });
  let at = Date.now();
  const engine = createEngine({
    db, ring: parseKeyRing(keys), carriers: CARRIERS, sender: SENDER, now: () => at, metrics: createMetrics(),
    log: createLogger({ level: 'silent', service: 'bench', redactPaths: [] }),
  });
  const templates = loadTemplates(shipped('templates')).map((definition) => ({ name: definition.name, version: definition.version, definition }));
  await publishVersions(db, { policies: untiring(loadPolicies(shipped('policies'))), templates, now: at });
  return { engine, keys, moveTo: (to) => { at = to; }, close: () => db.close() };
};

/** Makes and migrates a database on a server, and opens it. */
export const openHistory = async (serverUrl: string, name: string): Promise<HistoryDatabase> => {
  const admin = await openClient(serverUrl);
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrate(url.href);
  return { name, url: url.href, ...await openClocked(url.href) };
};
