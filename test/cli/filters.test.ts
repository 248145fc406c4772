import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { run } from './support.ts';

const KEYS = generateKeyRingText();
const NUMBER = '+12025550144';

describe('lists that were narrowed down', () => {
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
  const tocsin = (...line: string[]) => run(line, { env: { DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' } });

  it.each([
    [['at-risk'], 'Nothing is at risk.\n'], [['dead-letters', 'list'], 'No dead letter waits.\n'],
    [['suppress', 'list'], 'Nothing is suppressed.\n'], [['consent', 'list'], 'No consent was taken back.\n'],
  ])('%j says that all is well where nothing narrowed it down', async (line, said) => {
    expect(await tocsin(...line)).toEqual({ code: 0, out: said, err: '' });
  });

  it.each([
    [['at-risk', '--search', 'zzz'], 'No notification at risk matches --search; without it there may be some.\n'],
    [['dead-letters', 'list', '--since', '2099-01-01'], 'No open dead letter matches --since; without it there may be some.\n'],
    [['dead-letters', 'list', '--cause', 'provider_auth', '--channel', 'sms'], 'No open dead letter matches --channel, --cause; without them there may be some.\n'],
    [['suppress', 'list', '--channel', 'sms', '--address', NUMBER], 'No suppression matches --channel, --address; without them there may be some.\n'],
    [['consent', 'list', '--tenant', 'default'], 'No consent that was taken back matches --tenant; without it there may be some.\n'],
  ])('%j says that nothing matches, and by which filters, and never repeats what was looked for', async (line, said) => {
    expect(await tocsin(...line)).toEqual({ code: 0, out: said, err: '' });
  });

  it.each([[['suppress', 'list']], [['consent', 'list']], [['erase', 'p-1', '--reason', 'requested']]])('%j refuses a tenant that nobody knows', async (line) => {
    const refused = await tocsin(...line, '--tenant', 'defualt', '--json');
    expect([refused.code, JSON.parse(refused.out)]).toEqual([1, { error: expect.objectContaining({ code: 'unknown_tenant', field: '--tenant' }) }]);
  });

  it.each([[['list']], [['retry', '--all', '--reason', 'checked']], [['discard', '--all', '--reason', 'over']]])('dead-letters %j refuses a cause that there is not, and names those there are', async (line) => {
    expect(await tocsin('dead-letters', ...line, '--cause', 'typo')).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/--cause is one of retries_exhausted, .*provider_auth/) });
  });

  it.each([
    ['NUL', 'a\u0000b', 'has a NUL character'], ['half of a surrogate pair', 'a\ud800', 'has half of a surrogate pair'], ['too many letters', 'x'.repeat(501), 'has more than 500 characters'],
    ['controls', '\u0007\u001b', 'has nothing in it to read'], ['characters without width', '\u200b\u2060', 'has nothing in it to read'], ['marks of direction', '\u202e\u2066', 'has nothing in it to read'],
  ])('a reason with %s is refused wherever one is given, as the HTTP API does, and nothing is done', async (_what, reason, said) => {
    const outcome = await acceptNotification(engine, urgentRequest('03'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    const { eventId } = outcome;
    for (const line of [['close', eventId], ['pause', eventId], ['resume', eventId], ['dead-letters', 'retry', '--all'], ['dead-letters', 'discard', '--all'], ['policy', 'activate', 'game-support-urgent', '1']]) {
      const refused = await tocsin(...line, '--reason', reason);
      expect([line[0], refused]).toEqual([line[0], { code: 2, out: '', err: expect.stringContaining(`--reason ${said}`) }]);
    }
    expect((await engine.load(eventId))?.state).toMatchObject({ closed: null, paused: null });
  });

  it('a reason of five hundred letters that can be read is taken, also where each is two units long', async () => {
    const outcome = await acceptNotification(engine, urgentRequest('03'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    expect(await tocsin('close', outcome.eventId, '--reason', '\u{1F514}'.repeat(500))).toMatchObject({ code: 0, err: '' });
  });
});
