import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { handleDeadLetterRequests } from '../../shared/delivery/dead-letter-requests.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { Command } from '../../shared/domain/decide.ts';
import type { AttemptKey } from '../../shared/domain/words.ts';
import { listDeadLetters } from '../../shared/ledger/dead-letters.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const KEYS = generateKeyRingText();
const SENTENCE = 'Ada rang the player herself';

describe('what is told of dead letters', () => {
  let database: TestDatabase;
  let engine: Engine & { close: () => Promise<void> };
  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await createTestEngine({ url: database.url, ring: KEYS });
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });
  const tocsin = (...line: string[]) => run(line, { env: { DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' }, wait: async () => { await handleDeadLetterRequests(engine); } });

  /** A notification whose SMS stopped, since its report was damaged; and its dead letter. */
  const die = async (): Promise<{ eventId: string; id: string }> => {
    const outcome = await acceptNotification(engine, urgentRequest('03'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    const { eventId } = outcome;
    const attempt: AttemptKey = `${eventId}.sms.1`;
    const act = (command: Command) => decideAndAppend(engine, eventId, { provenance: { actor: 'test', requestId: 'test' }, command: () => command });
    await act({ kind: 'start_submission', attempt });
    await act({ kind: 'record_submission', attempt, submission: 1, result: { kind: 'unsendable', reason: 'artifact_damaged' } });
    const letter = (await listDeadLetters(engine.db, {}, { limit: 10 })).find((one) => one.eventId === eventId);
    return { eventId, id: String(letter?.id) };
  };

  it('`show` has one that waits, and one that was discarded, with who and when, which no entry tells', async () => {
    const { eventId, id } = await die();
    expect((await tocsin('show', eventId)).out).toMatch(/Dead letters:\n.*\nsms\.1 +waits for an operator +- +- +-\n/);
    expect(await tocsin('dead-letters', 'discard', id, '--reason', 'over', '--actor', 'oncall-01', '--yes')).toMatchObject({ code: 0 });
    const { out } = await tocsin('show', eventId);
    expect(out).toMatch(/Dead letters:\n.*\nsms\.1 +discarded +20\S+ \S+Z +oncall-01 +over\n/);
    expect(out).not.toContain('waits for an operator');
    expect(JSON.parse((await tocsin('show', eventId, '--json')).out)).toMatchObject({
      dead_letters: [{ attempt_key: `${eventId}.sms.1`, resolution: 'discarded', resolved_at: expect.stringMatching(/^20.*Z$/), discarded_by: 'oncall-01', reason: 'over' }],
    });
  });

  it('`dead-letters show` says of a sentence, which is booked as `other`, that it is sealed, and where it is read', async () => {
    const { eventId, id } = await die();
    expect((await tocsin('dead-letters', 'show', id)).out).not.toContain('sealed');
    await tocsin('dead-letters', 'discard', id, '--reason', SENTENCE, '--yes');
    const { out } = await tocsin('dead-letters', 'show', id);
    expect(out).toMatch(/discard +cli +other +discarded/);
    expect(out).toContain(`"other" also stands for a sentence, which is sealed; of what was retried or discarded the dashboard shows it: /notifications/${eventId}`);
    expect(out).not.toContain(SENTENCE);
  });
});
