import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import { armFaultPoint } from '../../shared/telemetry/fault-points.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';

/** What the process is told on its standard input. */
export interface Told { url: string; ring: string; now: number; request: Omit<AcceptRequest, 'variables'>; variables: Record<string, string> }

const readInput = async (): Promise<Told> => {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Told;
};

/** A process of its own that accepts one notification and is killed with -9 between its commit and its enqueue. */
const told = await readInput();
const db = openDatabase({ url: told.url, poolSize: 2 });
const engine = createEngine({
  db, ring: parseKeyRing(told.ring), carriers: CARRIERS, sender: { sms: '+12025550100', email: 'Tocsin <tocsin@example.com>' }, now: () => told.now,
  log: createLogger({ level: 'silent', service: 'test', redactPaths: [] }),
});
armFaultPoint('intake-committed');
await acceptNotification(engine, { ...told.request, variables: () => told.variables });
process.exit(1);
