import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { checkRedis } from '../../shared/queue/check-redis.ts';
import { readRedisAddress } from '../../shared/queue/redis-address.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import type { TestRedis } from '../support/test-redis.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describe('the address of a Redis', () => {
  test('of a cluster names its nodes, its login and the deployment whose keys are meant', () => {
    expect(readRedisAddress('redis+cluster://a:7001,b,[::1]:7003')).toEqual({
      kind: 'cluster', nodes: [{ host: 'a', port: 7001 }, { host: 'b', port: 6379 }, { host: '::1', port: 7003 }], login: {}, prefix: '{tocsin}',
    });
    expect(readRedisAddress('rediss+cluster://app:p%40ss@a:1,b:2/staging')).toEqual({
      kind: 'cluster', nodes: [{ host: 'a', port: 1 }, { host: 'b', port: 2 }], login: { username: 'app', password: 'p@ss', tls: {} }, prefix: '{tocsin-staging}',
    });
  });

  test('of one server is left as it is', () => {
    expect(readRedisAddress('redis://:secret@a:6379/3')).toEqual({ kind: 'single', url: 'redis://:secret@a:6379/3', prefix: '{tocsin}' });
  });

  test.each(['redis+cluster://', 'redis+cluster://a/No{good}', 'redis+cluster://a/x/y'])('%s is refused without being quoted', (url) => {
    expect(() => readRedisAddress(url)).toThrow(/write redis\+cluster/);
  });
});

const there = process.env.TOCSIN_TEST_REDIS !== '' && process.env.TOCSIN_TEST_REDIS !== undefined;
(there ? describe : describe.skip)(`a Redis Cluster of three nodes${there ? '' : ': SKIPPED, there is no Redis'}`, () => {
  let cluster: TestRedis;
  let world: World;
  beforeAll(async () => {
    const started = await startRedisCluster();
    if (!started) throw new Error('no cluster starts with the redis-server and redis-cli of the PATH');
    cluster = started;
    world = await openWorld({ backend: { kind: 'redis', redisUrl: cluster.url } });
  }, 60_000);
  afterAll(async () => {
    await world?.close();
    await cluster?.stop();
  });

  test('carries an unconfirmed SMS to exactly one email', async () => {
    const eventId = await world.accept('03');
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    await world.advance(40_000);
    await world.until(eventId, (state) => state.attempts[1]?.state === 'submitted');
    expect((await world.kinds(eventId)).filter((kind) => kind === 'FallbackClaimed')).toHaveLength(1);
    expect(await world.status(eventId)).toBe('sent');
  });

  test('that goes away and comes back loses nothing', async () => {
    await world.takeQueueAway();
    const eventId = await world.accept('05');
    expect(await world.queue.ping()).toBe(false);
    await world.giveQueueBack();
    const woken = setInterval(() => world.relay.wake(), 100);
    const state = await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted').finally(() => clearInterval(woken));
    expect(state.attempts[0]).toMatchObject({ state: 'rejected', submissions: 1 });
  });

  test('keeps two deployments apart by their names', async () => {
    const other = await openWorld({ backend: { kind: 'redis', redisUrl: cluster.url } });
    try {
      await other.queue.addJobs('sms-dead-letter', [{ id: 'dead-letter-1-s1', name: 'x', payload: {}, delayMs: 60_000 }]);
      const delayed = async (one: World): Promise<number> => (await one.queue.counts())['sms-dead-letter'].delayed;
      expect([await delayed(other), await delayed(world)]).toEqual([1, 0]);
      await other.flushQueue();
      expect(await delayed(other)).toBe(0);
    } finally {
      await other.close();
    }
  });

  test('is told from a single server at boot, and the other way round', async () => {
    expect((await checkRedis(cluster.url)).filter(({ level }) => level === 'error')).toEqual([]);
    const node = cluster.url.replace('redis+cluster:', 'redis:').split(',')[0] as string;
    expect((await checkRedis(node)).map(({ code }) => code)).toContain('redis_cluster_mismatch');
    expect((await checkRedis('redis+cluster://127.0.0.1:1,127.0.0.1:2')).map(({ code }) => code)).toEqual(['redis_away']);
  });
});
