import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { expect, test } from '@jest/globals';
import { isAwayInMidStatement, isDatabaseAway, openDatabase } from '../../shared/ledger/database.ts';

test('a server that takes the connection and never answers counts as away, to a pool and to a client of its own', async () => {
  const sockets: { destroy: () => void }[] = [];
  const silent = createServer((socket) => { sockets.push(socket); }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `postgresql://nobody@127.0.0.1:${(silent.address() as AddressInfo).port}/none`;
  const db = openDatabase({ url, poolSize: 1, connectTimeoutMs: 50 });
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 50 });
  client.on('error', () => undefined);
  const errors = await Promise.all([db.pool.query('SELECT 1'), client.connect()].map((one: Promise<unknown>) => one.then(() => null, (error: unknown) => error)));
  expect(errors.map(isDatabaseAway)).toEqual([true, true]);
  expect(errors.map(isAwayInMidStatement)).toEqual([false, false]);
  for (const socket of sockets) socket.destroy();
  await db.close();
  await new Promise((resolve) => silent.close(resolve));
});

test('only what may have been sent may have been carried out', () => {
  const coded = (code: string) => Object.assign(new Error('x'), { code });
  for (const sent of [coded('ECONNRESET'), coded('57P01'), new Error('Connection terminated unexpectedly'), new Error('Query read timeout'), new Error('y', { cause: coded('EPIPE') })]) expect([sent, isAwayInMidStatement(sent)]).toEqual([sent, true]);
  for (const unsent of [coded('ECONNREFUSED'), coded('57P03'), new Error('z', { cause: coded('ECONNREFUSED') }), coded('23505'), new Error('a defect')]) expect([unsent, isAwayInMidStatement(unsent)]).toEqual([unsent, false]);
});
