import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { inputFor } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { Command } from '../../shared/domain/decide.ts';
import { decide } from '../../shared/domain/decide.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { Append } from '../../shared/ledger/rows.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { openSecondConnections } from './second-connections.ts';
import type { SecondConnections } from './second-connections.ts';

export interface Person { eventId: string; number: string }

export interface OverlappingStarts extends Omit<SecondConnections, 'end'> {
  engine: () => Engine;
  /** Accepts a notification to a number of its own, or to the one given. */
  acceptOne: (over?: { purpose?: string; number?: string }) => Promise<Person>;
  /** The append of what was decided on the state as it is now; not made yet. */
  decided: (person: Person, command: Command) => Promise<Append>;
  /** The append that starts the SMS. */
  start: (person: Person) => Promise<Append>;
}

/** A database with an engine, for starts that must overlap with what bars them; opened and closed around the tests of the file. */
export const openOverlappingStarts = (policies?: Policy[]): OverlappingStarts => {
  let database: TestDatabase;
  let engine: Engine & { close: () => Promise<void> };
  const { transaction, untilOneWaits, end } = openSecondConnections(() => database.url);
  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await createTestEngine({ url: database.url, poolSize: 8, ...(policies && { policies }) });
  });
  afterEach(end);
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });
  let people = 0;
  const acceptOne: OverlappingStarts['acceptOne'] = async ({ purpose = 'game-support-urgent', number = `+1202557${String(1_000 + (people += 1))}` } = {}) => {
    const request = urgentRequest('03', { purpose });
    const outcome = await acceptNotification(engine, { ...request, recipient: { ...request.recipient, sms: number } });
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return { eventId: outcome.eventId, number };
  };
  const decided: OverlappingStarts['decided'] = async ({ eventId }, command) => {
    const loaded = await engine.load(eventId);
    if (!loaded) throw new Error('not loaded');
    const decision = decide(command, loaded.state, inputFor(engine, loaded, await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion)));
    return toAppend(decision, { before: loaded.state, prevHash: loaded.headHash, provenance: { actor: 'test', requestId: 'r' }, senders: engine.senderPrints, barring: loaded.suppressed });
  };
  return { engine: () => engine, transaction, untilOneWaits, acceptOne, decided, start: (person) => decided(person, { kind: 'start_submission', attempt: `${person.eventId}.sms.1` }) };
};
