import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createOriginClient } from '../../shared/transports/origin/client.ts';
import type { OriginClient } from '../../shared/transports/origin/client.ts';
import type { OriginStandIn } from '../../services/sandbox/origin.ts';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { startSandboxFor } from '../support/sandbox-providers.ts';

const SECRET = 'the-secret-of-a-sandbox-with-forty-letters';

describe('the shop of the sandbox', () => {
  let sandbox: RunningSandbox;
  let client: OriginClient;
  let shop: OriginStandIn;
  beforeAll(async () => {
    sandbox = await startSandboxFor({ originPort: 0, preconditionSecret: SECRET });
    shop = sandbox.origin as OriginStandIn;
    client = createOriginClient({ origins: [shop.url], secrets: [SECRET], ca: shop.certificate, allowLoopback: true, now: Date.now, limitMs: 5_000 });
  });
  afterAll(async () => {
    client.close();
    await sandbox.close();
  });
  const ask = (order: string) => client.ask({ eventId: 'evt_01J0000000000000000000000A', url: `${shop.url}/orders/${order}/needs-action`, wanted: 'claim' });
  const tell = (body: unknown) => fetch(`${sandbox.httpUrl}/orders`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

  it('says of an order what it was told to, and lists what it was asked', async () => {
    expect(await ask('o-1')).toEqual({ kind: 'needed' });
    expect((await tell({ order: 'o-1', answer: 'not_needed' })).status).toBe(201);
    expect(await ask('o-1')).toEqual({ kind: 'not_needed' });
    const listed = await (await fetch(`${sandbox.httpUrl}/orders`)).json() as { url: string; questions: unknown[] };
    expect(listed).toMatchObject({ url: shop.url, questions: [{ order: 'o-1', signed: true, wanted: 'claim' }, { order: 'o-1', signed: true }] });
  });

  it('refuses what it does not understand, naming the field', async () => {
    const refused = await tell({ order: 'o-1', answer: 'perhaps' });
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'order_invalid', field: 'answer' }]);
    expect((await tell({ order: '../x', answer: 'needed' })).status).toBe(400);
  });

  it('is away where it was not asked for', async () => {
    const without = await startSandboxFor();
    expect([without.origin, (await fetch(`${without.httpUrl}/orders`)).status]).toEqual([null, 404]);
    await without.close();
  });
});
