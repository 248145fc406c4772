import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withHash } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { describeOnBackends } from '../support/backends.ts';
import { shippedPolicies, untiringPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const MINUTE = 60_000;
const variables = { code: { type: 'string' as const, max: 40, secret: true }, service: { type: 'string' as const, max: 40 } };
const common = { version: 1, owner: 'ours' as const, classification: 'transactional' as const, variables, fallbackLocale: 'en' };
const TEMPLATES: TemplateVersion[] = [
  withHash({ ...common, name: 'reset-sms', channel: 'sms', locales: { en: { sms: '{{ service }}: your code is {{ code }}. {{ ref }}' } } }),
  withHash({ ...common, name: 'reset-email', channel: 'email', locales: { en: { subject: 'Your code for {{ service }}', text: 'Your code is {{ code }}.', html: '<p>Your code is {{ code }}.</p>' } } }),
];

/** A password reset: the token is a secret, the rest goes once settled, the addresses a minute later. */
const resetPolicy = (): Policy => {
  const base = shippedPolicies().find((policy) => policy.purpose === 'game-support-urgent') as Policy;
  return {
    ...base, purpose: 'test-reset', expiresAfterMs: 5 * MINUTE, reconcileGraceMs: MINUTE, payload: { variables: 'settled', addresses: 'retry_window', retryWindowMs: MINUTE },
    steps: base.steps.map((step) => ({ ...step, template: `reset-${step.channel}`, decideWithinMs: step.channel === 'sms' ? 30_000 : 2 * MINUTE })),
  };
};

describeOnBackends('the secret of a password reset', (backend) => {
  let world: World;
  let serial = 0;
  beforeAll(async () => { world = await openWorld({ backend, policies: [...untiringPolicies(), resetPolicy()], templates: TEMPLATES }); });
  afterAll(() => world.close());

  const reset = async (ending: string): Promise<{ eventId: string; code: string }> => {
    serial += 1;
    const code = `RESET-7Q4X-${serial}-NEVER`;
    return { code, eventId: await world.accept(ending, { purpose: 'test-reset', variables: () => ({ code, service: 'Example' }) }) };
  };
  const submitted = (eventId: string, index = 0) => world.until(eventId, (state) => state.attempts[index]?.state === 'submitted');
  const close = (eventId: string) => closeNotification(world.engine, { tenant: null, eventId, reason: 'consumed', actor: 'origin', requestId: 'c' });
  const sent = (eventId: string, channel: string): string => JSON.stringify(world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`)));
  const gone = async (eventId: string): Promise<string[]> => Object.keys((await world.state(eventId)).payload?.destroyed ?? {}).sort();
  const boxOf = async (eventId: string): Promise<string> =>
    String((await world.ask('SELECT encode(box, \'hex\') AS box FROM sealed_payload WHERE event_id = $1 AND part = \'secrets\'', [eventId]))[0]?.['box']);

  /** Every table of the database in which a text stands, in clear or as bytes. */
  const tablesWith = async (text: string): Promise<string[]> => {
    const tables = await world.ask('SELECT quote_ident(schemaname) || \'.\' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname NOT IN (\'pg_catalog\', \'information_schema\') ORDER BY 1');
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await world.ask(`SELECT 1 FROM ${String(name)} AS t WHERE t::text ILIKE '%' || $1 || '%' LIMIT 1`, [text]);
      if (rows.length > 0) found.push(String(name));
    }
    return found;
  };
  /** Everything that is still sealed for an event, opened. */
  const opened = async (eventId: string): Promise<string> => {
    const boxes = await world.ask(`SELECT part, key_id, box FROM sealed_payload WHERE event_id = $1 AND box IS NOT NULL
      UNION ALL SELECT 'recipient', key_id, box FROM recipient WHERE event_id = $1 AND box IS NOT NULL UNION ALL SELECT 'observation', key_id, box FROM observation_raw WHERE event_id = $1`, [eventId]);
    expect(boxes.length).toBeGreaterThan(0);
    return JSON.stringify(boxes.map((row) => openPart(world.engine.ring, eventId, String(row['part']), { keyId: String(row['key_id']), box: row['box'] as Buffer })));
  };
  const faultsFound = async () => {
    const faults = collectFaults();
    await verifyNotifications(world.engine.db, { faults, ring: world.engine.ring });
    return faults.list;
  };

  test('is destroyed in the very append of its close, and found nowhere afterwards', async () => {
    const { eventId, code } = await reset('03');
    await submitted(eventId);
    expect(sent(eventId, 'sms')).toContain(code);
    const box = await boxOf(eventId);
    expect(await tablesWith(box)).toEqual(['public.sealed_payload']);
    expect(await opened(eventId)).toContain(code);
    expect(await close(eventId)).toMatchObject({ kind: 'closed', reason: 'consumed' });
    const last = (await readEntries(world.engine.db, eventId)).slice(-2);
    expect(last.map((entry) => [entry.kind, entry.requestId])).toEqual([['NotificationClosed', 'c'], ['PayloadDestroyed', 'c']]);
    expect(await gone(eventId)).toEqual(['secrets']);
    expect(await tablesWith(box)).toEqual([]);
    expect(await tablesWith(code)).toEqual([]);
    expect(await tablesWith(Buffer.from(code).toString('hex'))).toEqual([]);
    expect(await opened(eventId)).not.toContain(code);
    expect(await faultsFound()).toEqual([]);
  });

  test('takes nothing of the record with it: versions, transitions and words stay, also once everything is destroyed', async () => {
    const { eventId } = await reset('03');
    await submitted(eventId);
    await close(eventId);
    await world.advance(10 * MINUTE);
    expect(await gone(eventId)).toEqual(['addresses', 'secrets', 'variables']);
    expect(await world.ask('SELECT 1 FROM sealed_payload WHERE event_id = $1 AND box IS NOT NULL UNION ALL SELECT 1 FROM recipient WHERE event_id = $1 AND box IS NOT NULL', [eventId])).toEqual([]);
    const entries = await readEntries(world.engine.db, eventId);
    expect(entries.map((entry) => entry.kind)).toEqual(expect.arrayContaining(['NotificationAccepted', 'AttemptPlanned', 'SubmissionStarted', 'SubmissionAccepted', 'NotificationClosed', 'NotificationSettled', 'PayloadDestroyed']));
    const planned = entries.find((entry) => entry.kind === 'AttemptPlanned');
    expect(planned && detailsOf(planned)).toMatchObject({ template: 'reset-sms', template_version: 1 });
    const told = explain(await world.state(eventId), entries.map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) })), resetPolicy()).join('\n');
    expect(told).toContain('with template reset-sms/1');
    expect(told).toMatch(/The secret variables were destroyed at .*\n.*The variables were destroyed at .*\n.*The addresses were destroyed at/s);
    expect(await world.status(eventId)).toBe('closed');
    expect(await faultsFound()).toEqual([]);
  });

  test('outlives a failed SMS, for the email has to carry it too; it goes when the email was the last that could be sent', async () => {
    const { eventId, code } = await reset('02');
    await submitted(eventId);
    await world.advance(8_000);
    await submitted(eventId, 1);
    expect(Buffer.from(sent(eventId, 'email')).toString()).toContain(code);
    // The failed SMS could still be retried by an operator, until expiry.
    expect(await gone(eventId)).toEqual([]);
    await world.advance(5 * MINUTE);
    expect(await gone(eventId)).toEqual(['addresses', 'secrets', 'variables']);
    expect(await tablesWith(code)).toEqual([]);
  });

  test('that was delivered and never used is destroyed at expiry by the sweep alone', async () => {
    const { eventId } = await reset('01');
    await submitted(eventId);
    await world.advance(MINUTE);
    expect(await world.status(eventId)).toBe('delivered');
    const { expiresAt } = await world.state(eventId);
    expect(await boxOf(eventId)).toMatch(/^[0-9a-f]+$/);
    await world.advance(expiresAt - world.now() - 1);
    expect(await gone(eventId)).toEqual([]);
    await world.advance(1);
    expect((await world.state(eventId)).payload?.destroyed['secrets']).toBe(expiresAt);
  });
});
