import { fileURLToPath } from 'node:url';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { VersionStore } from '../../shared/delivery/versions.ts';
import { templateKey } from '../../shared/delivery/versions.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { createMemoryLedger, memoryPort } from '../simulation/memory-ledger.ts';
import { SENDER, untiringPolicies, silentLog } from '../support/test-engine.ts';
import { appendConformance } from './append-conformance.ts';

const templates = new Map(loadTemplates(fileURLToPath(new URL('../../templates', import.meta.url))).map((template) => [templateKey(template.name, template.version), template]));
const policies = untiringPolicies();
const bound = (purpose: string) => {
  const policy = policies.find((one) => one.purpose === purpose);
  return policy ? { policy, templates } : null;
};
const store: VersionStore = {
  bind: (purpose) => Promise.resolve(bound(purpose) as NonNullable<ReturnType<typeof bound>>),
  active: (purpose) => Promise.resolve(bound(purpose)),
  purposes: () => Promise.resolve(policies.map((policy) => policy.purpose)),
};

appendConformance('in memory', () => {
  let at = 0;
  const engine = createEngine({
    db: null as unknown as Engine['db'], ledger: memoryPort(createMemoryLedger()), versions: store, ring: parseKeyRing(generateKeyRingText()),
    carriers: CARRIERS, sender: SENDER, log: silentLog(), now: () => at,
  });
  return Promise.resolve({ engine, setNow: (now) => { at = now; }, close: () => Promise.resolve() });
});
