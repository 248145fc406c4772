import { readCarrying } from '../../services/intake/artifact-references.ts';
import { siteAt } from '../../services/intake/page.ts';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import { startDelivery } from '../../services/delivery/delivery.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import { armFaultPoint } from '../../shared/telemetry/fault-points.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import type { TransportChoice } from '../../shared/transports/carriers.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import type { TransportSettings } from '../../shared/transports/open-transports.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';

/** What the process is told on its standard input: where everything is, what time it is, and what it does until it dies. */
export interface Told {
  point: FaultPoint; url: string; redisUrl: string | null; ring: string; now: number; sender: { sms: string; email: string };
  transports: TransportChoice; providers: Pick<TransportSettings, 'sms' | 'email'>;
  does: { accept: Omit<AcceptRequest, 'variables'>; variables: Record<string, string>; site: string } | { deliver: Channel } | 'relay' | 'sweep';
}

const TIMEOUT_MS = 5_000;
/** Nobody waits for a process that does not come by its point. */
const LIVES_MS = 60_000;

const readInput = async (): Promise<Told> => {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Told;
};

/** A process of its own that takes part with one service, and is killed with -9 at its point. */
const told = await readInput();
setTimeout(() => process.exit(1), LIVES_MS);
const now = (): number => told.now;
const log = createLogger({ level: 'silent', service: 'test', redactPaths: [] });
const db = openDatabase({ url: told.url, poolSize: 3 });
const engine = createEngine({ db, ring: parseKeyRing(told.ring), carriers: carriersFor(told.transports), sender: told.sender, log, now });
const openQueue = () => openQueueBackend({ databaseUrl: told.url, roleName: 'tocsin_app', ...(told.redisUrl === null ? {} : { redisUrl: told.redisUrl }), onError: () => undefined });
const openRelay = (queue: ReturnType<typeof openQueue>) => createRelay({ ledger: engine.ledger, queue, now, log });
const transportOf = (channel: Channel) => openTransport(channel, { ...told.providers, timeoutMs: TIMEOUT_MS, now });

armFaultPoint(told.point);
if (told.does === 'relay') await openRelay(openQueue()).drain();
else if (told.does === 'sweep') {
  const queue = openQueue();
  await startCoordinator({ engine, queue, relay: openRelay(queue), transports: [transportOf('sms'), transportOf('email')], actor: 'coordinator', pollConcurrency: 4, providerTimeoutMs: TIMEOUT_MS }).sweep();
} else if ('deliver' in told.does) {
  const queue = openQueue();
  await openRelay(queue).drain();
  startDelivery({ engine, queue, channel: told.does.deliver, transport: transportOf(told.does.deliver), concurrency: 1, submitStartWithinMs: 10_000, providerTimeoutMs: TIMEOUT_MS, actor: 'delivery' });
} else {
  const { accept, variables, site } = told.does;
  const fields = accept.fingerprintOf as Parameters<typeof readCarrying>[1];
  const carrying = accept.artifacts.length === 0 ? { variables: () => variables } : await readCarrying(engine, fields, { tenant: accept.tenant, idempotencyKey: accept.idempotencyKey, site: siteAt(site) });
  await acceptNotification(engine, { ...accept, ...carrying });
}
