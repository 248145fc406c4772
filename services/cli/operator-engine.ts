import { randomUUID } from 'node:crypto';
import { isActorName } from '../../shared/config/actor-name.ts';
import { readKeysText } from '../../shared/config/cli-config.ts';
import { refuseWrongKeys } from '../../shared/delivery/check-keys.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { AuditActor } from '../../shared/ledger/audit-entries.ts';
import { createDatabaseClock } from '../../shared/ledger/database-clock.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import { REDACT_PATHS } from '../../shared/security/redact.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import type { Input } from './command.ts';
import type { Io } from './io.ts';
import { withLedger } from './ledger-session.ts';
import { UsageError } from './refusal.ts';

/**
 * Works on the database's ledger through the same decider as everyone else, and closes it afterwards. It knows neither senders nor
 * carriers of the deployment, so nothing may be planned with it: the coordinator does that.
 */
export const withEngine = <Answer>(io: Io, work: (engine: Engine) => Promise<Answer>): Promise<Answer> => withLedger(io, async (db, config) => {
  const clock = createDatabaseClock(db);
  await clock.refresh();
  const ring = parseKeyRing(readKeysText(io.env, config));
  // With another ring no fingerprint would be found, and what is sealed could not be read by the services.
  await refuseWrongKeys(db, ring);
  return work(createEngine({
    db, ring, carriers: CARRIERS, sender: { sms: '', email: '' }, now: clock.now,
    log: createLogger({ level: 'silent', service: 'cli', redactPaths: REDACT_PATHS }),
  }));
});

/** Who acts, as the trail will say: whoever works on the database itself has no role in it. */
export const auditOf = (input: Input, option = 'actor'): AuditActor => ({ actor: actorOf(input, option), role: null, via: 'cli', session: null, client: null, requestId: `cli-${randomUUID()}` });

/** Works on the database without its keys. */
export const withDesk = <Answer>(io: Io, work: (desk: { db: Database; now: () => number }) => Promise<Answer>): Promise<Answer> => withLedger(io, async (db) => {
  const clock = createDatabaseClock(db);
  await clock.refresh();
  return work({ db, now: clock.now });
});

/** Who acts, as the ledger will say. @throws UsageError where it is no plain name: the ledger is for ever, and clear text. */
export const actorOf = (input: Input, option = 'actor'): string => {
  const actor = input.text(option) ?? 'cli';
  if (!isActorName(actor)) throw new UsageError(`--${option} must be a short name of letters, at most six digits, . _ : or -, since the ledger keeps it for ever`, `--${option}`);
  return actor;
};
