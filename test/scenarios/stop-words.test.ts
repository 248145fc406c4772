import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World, WorldSettings } from '../support/world.ts';

const OUR_NUMBER = '+12025550100';

const tests = (settings: Omit<WorldSettings, 'log'>): void => {
  let world: World;
  const lines: string[] = [];
  let people = 0;
  beforeAll(async () => {
    const destination = new Writable({ write: (chunk: Buffer, _encoding, done) => { lines.push(chunk.toString()); done(); } });
    world = await openWorld({ ...settings, log: createLogger({ level: 'debug', service: 'test', redactPaths: [], destination }) });
  });
  afterAll(() => world.close());

  const aNumber = (): string => {
    people += 1;
    return `+1202555${String(4_100 + people)}`;
  };
  const accept = (number: string): Promise<string> => {
    const consent = [{ channel: 'sms' as const, basis: 'consent', reference: 'c' }, { channel: 'email' as const, basis: 'consent', reference: 'c' }];
    return world.accept('00', { recipient: { ref: number.slice(-4), sms: number, email: `r${number.slice(-4)}@example.com`, region: 'US', locale: 'en', timeZone: null, consent } });
  };
  const hear = async (): Promise<void> => {
    world.jump(15_000);
    await world.coordinator.readInbound();
  };
  const text = async (from: string, ...texts: string[]): Promise<void> => {
    for (const one of texts) {
      world.jump(1_000);
      world.sandbox.receive({ from, to: OUR_NUMBER, text: one });
    }
    await hear();
  };
  const steps = async (number: string) => {
    const eventId = await accept(number);
    await world.until(eventId, (state) => state.attempts.some((attempt) => attempt.submissions > 0));
    return (await world.state(eventId)).steps.map(({ channel, phase, reason }) => `${channel} ${phase}${reason === null ? '' : ` ${reason}`}`);
  };
  const SENT = ['sms started', 'email waiting'];
  const STOPPED = ['sms skipped suppressed', 'email started'];

  test('STOP ends SMS to that number and not email; START has it go on', async () => {
    const number = aNumber();
    expect(await steps(number)).toEqual(SENT);
    await text(number, ' Stop ');
    expect(await steps(number)).toEqual(STOPPED);
    await text(number, 'START');
    expect(await steps(number)).toEqual(SENT);
  });

  test('only a whole message counts, and the last word of several', async () => {
    const [chatty, undecided] = [aNumber(), aNumber()];
    await text(chatty, 'please stop the noise', 'START me up', 'thanks');
    await text(undecided, 'STOP', 'UNSTOP', 'QUIT');
    expect([await steps(chatty), await steps(undecided)]).toEqual([SENT, STOPPED]);
    expect((await world.ask("SELECT count(*)::int AS words FROM inbound_word WHERE result <> 'outdated'"))[0]?.['words']).toBeGreaterThan(0);
    const kept = JSON.stringify(await world.ask('SELECT w::text FROM inbound_word w UNION ALL SELECT s::text FROM suppression s'));
    expect(kept).not.toMatch(/noise|thanks|25554/);
  });

  test('what was read stays so though every listing shows it again, also after a restart', async () => {
    const number = aNumber();
    await text(number, 'STOP', 'START');
    for (let times = 0; times < 3; times += 1) await hear();
    await world.restart();
    await hear();
    expect(await steps(number)).toEqual(SENT);
    expect(await world.ask('SELECT count(*)::int AS count FROM inbound_cursor')).toEqual([{ count: 1 }]);
  });

  test('a word that a listing shows only minutes later is heard all the same', async () => {
    const number = aNumber();
    await hear();
    world.sandbox.receive({ from: number, to: OUR_NUMBER, text: 'STOP', at: world.now() - 4 * 60_000 });
    await hear();
    expect(await steps(number)).toEqual(STOPPED);
  });

  test('START lifts nothing that an operator did', async () => {
    const number = aNumber();
    await suppressDestination(world.engine, { tenant: 'default', channel: 'sms', address: number, reason: 'requested', actor: 'operator' });
    await text(number, 'STOP', 'START');
    expect(await steps(number)).toEqual(STOPPED);
  });

  test('a read that fails is made again, and misses nothing; two coordinators read in turn', async () => {
    const number = aNumber();
    world.sandbox.setScenario(OUR_NUMBER, [{ readFails: 1, of: 'listing', httpStatus: 503 }] as never);
    await text(number, 'STOP');
    expect(await world.ask("SELECT count(*)::int AS count FROM suppression WHERE source = 'stop' AND at = $1", [new Date(world.now())])).toEqual([{ count: 0 }]);
    world.jump(15_000);
    await Promise.all([world.coordinator.readInbound(), world.coordinator.readInbound(), world.coordinator.readInbound()]);
    expect(await steps(number)).toEqual(STOPPED);
  });

  test('nothing waiting in a queue goes to it any more', async () => {
    const number = aNumber();
    world.sandbox.setScenario(number, [{ submit: 'throttle', retryAfter: 1 }] as never);
    // The read is due, and the second submission is not: the clock stands still from here on.
    world.jump(15_000);
    const eventId = await accept(number);
    await world.until(eventId, (state) => state.attempts[0]?.submissions === 1 && state.attempts[0].state === 'queued');
    world.sandbox.receive({ from: number, to: OUR_NUMBER, text: 'STOP' });
    await world.coordinator.readInbound();
    await world.advance(3_000);
    const state = await world.until(eventId, ({ attempts }) => attempts[0]?.state !== 'queued');
    expect([state.attempts[0]?.state, state.attempts[0]?.submissions]).toEqual(['suppressed', 1]);
  });

  test('no number and no text stands in the log; what was done is counted', async () => {
    expect(lines.join('')).toContain('inbound.word_heard');
    expect(lines.join('')).not.toMatch(/25554|noise|please/);
    const { text: metrics } = await world.engine.metrics.scrape();
    for (const kind of ['stop', 'start']) expect(metrics).toMatch(new RegExp(`tocsin_opt_outs_total\\{kind="${kind}",result="(suppressed|lifted)"\\} [1-9]`));
  });
};

describeOnBackends('a recipient who texts back', (backend) => tests({ backend }));
describe('a recipient who texts back, through Sinch', () => tests({ backend: { kind: 'postgres' }, transports: { sms: 'sinch', email: 'smtp' } }));
