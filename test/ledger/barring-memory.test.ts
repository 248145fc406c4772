import { fileURLToPath } from 'node:url';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { BoundVersions } from '../../shared/delivery/versions.ts';
import { templateKey } from '../../shared/delivery/versions.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { createMemoryLedger, memoryPort } from '../simulation/memory-ledger.ts';
import { SENDER, silentLog } from '../support/test-engine.ts';
import { barringConformance } from './barring-conformance.ts';

const templates = new Map(loadTemplates(fileURLToPath(new URL('../../templates', import.meta.url))).map((template) => [templateKey(template.name, template.version), template]));

barringConformance('in memory', (policies) => {
  let at = 0;
  const bound = (purpose: string): BoundVersions => ({ policy: policies.find((one) => one.purpose === purpose) as BoundVersions['policy'], templates });
  const engine = createEngine({
    db: null as unknown as Engine['db'], ledger: memoryPort(createMemoryLedger()), ring: parseKeyRing(generateKeyRingText()), carriers: CARRIERS, sender: SENDER, log: silentLog(), now: () => at,
    versions: { bind: (purpose) => Promise.resolve(bound(purpose)), active: (purpose) => Promise.resolve(bound(purpose)), purposes: () => Promise.resolve([]) },
  });
  return Promise.resolve({ engine, setNow: (now) => { at = now; }, close: () => Promise.resolve() });
});
