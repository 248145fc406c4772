import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { smsSize } from '../../shared/content/segments.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { PROVIDERS } from '../../shared/transports/carriers.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { describeOnBackends } from '../support/backends.ts';
import { SANDBOX_ACCOUNT } from '../support/sandbox-providers.ts';
import { SENDER } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describeOnBackends('the counters after a few tickets', (backend) => {
  let world: World;
  let text = '';
  /** Sum of the samples of a metric whose labels hold all of these. */
  const sum = (name: string, labels: Record<string, string> = {}): number => text.split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  const rows = async (query: string): Promise<number> => Number((await world.ask(query))[0]?.['n']);
  const entries = (kind: string): Promise<number> => rows(`SELECT count(*) AS n FROM ledger_entry WHERE kind = '${kind}'`);

  beforeAll(async () => {
    world = await openWorld({ backend });
    Object.assign(world.engine, { prices: { sms: 0.1, email: 0.01, poll: 0.001, gb_month: 1 } });
    const events = await Promise.all(['01', '02', '03', '05', '07'].map((ending) => world.accept(ending)));
    await Promise.all(events.map((event) => world.until(event, (state) => ['submitted', 'rejected', 'submitted_unknown'].includes(state.attempts[0]?.state ?? ''))));
    await world.advance(60_000);
    for (const event of events.slice(1)) await world.until(event, (state) => state.attempts[1]?.state === 'submitted');
    ({ text } = await world.engine.metrics.scrape());
  });
  afterAll(() => world.close());

  test('are those of the ledger: acceptances, submissions, claims and what the provider answered', async () => {
    expect(sum('tocsin_acceptances_total', { outcome: 'accepted' })).toBe(5);
    expect(sum('tocsin_submissions_total')).toBe(await entries('SubmissionStarted'));
    expect(sum('tocsin_submissions_total', { channel: 'sms', provider: 'twilio', result: 'accepted' })).toBe(3);
    expect(sum('tocsin_submissions_total', { channel: 'sms', result: 'rejected', reason: 'invalid_destination' })).toBe(1);
    expect(sum('tocsin_submissions_total', { channel: 'sms', result: 'unknown', reason: 'lost_response' })).toBe(1);
    expect(sum('tocsin_fallbacks_claimed_total', { channel: 'email' })).toBe(await entries('FallbackClaimed'));
    expect([sum('tocsin_fallbacks_claimed_total', { cause: 'attempt_failed' }), sum('tocsin_fallbacks_claimed_total', { cause: 'deadline' })]).toEqual([2, 2]);
    expect(sum('tocsin_dead_letters_total')).toBe(await rows('SELECT count(*) AS n FROM dead_letter'));
  });

  test('are those of the ledger: appends, polls, relayed rows and the histograms', async () => {
    // What is accepted is no append, so every other version of a notification was written by one that won.
    expect(sum('tocsin_appends_total', { result: 'won' })).toBe(await rows(
      `SELECT count(DISTINCT (event_id, request_id, at)) AS n FROM ledger_entry WHERE actor <> 'test'`));
    expect(sum('tocsin_group_size_count', { statement: 'accept' })).toBeLessThanOrEqual(5);
    expect(sum('tocsin_group_size_sum', { statement: 'accept' })).toBe(5);
    expect(sum('tocsin_polls_total', { call: 'status', outcome: 'delivered' })).toBe(await entries('AttemptDelivered'));
    expect(sum('tocsin_polls_total')).toBe(sum('tocsin_poll_lag_seconds_count'));
    expect(sum('tocsin_outbox_rows_relayed_total')).toBe(await entries('AttemptQueued') + await entries('AttemptRequeued'));
    expect(sum('tocsin_accepted_to_provider_seconds_count', { channel: 'sms' })).toBe(5);
    expect(sum('tocsin_decision_lag_seconds_count')).toBeGreaterThan(0);
    expect(sum('tocsin_queue_jobs_in_hand', { queue: 'sms', backend: backend.kind })).toBe(0);
  });

  test('are those of the ledger: latencies, ends, deadlines without a delivery', async () => {
    expect(sum('tocsin_queue_seconds_count')).toBe(await entries('SubmissionStarted'));
    // Rendered when it is planned, and once more before it is submitted; again where a race was lost.
    expect(sum('tocsin_render_seconds_count')).toBeGreaterThanOrEqual(await entries('AttemptPlanned') + await entries('SubmissionStarted'));
    expect(sum('tocsin_confirmation_seconds_count', { channel: 'sms', provider: 'twilio' })).toBe(await entries('AttemptDelivered'));
    expect(sum('tocsin_attempts_ended_total', { region: 'US' })).toBe(await rows('SELECT count(*) AS n FROM attempt WHERE settled_at IS NOT NULL'));
    expect(sum('tocsin_attempts_ended_total', { channel: 'sms', outcome: 'rejected' })).toBe(1);
    // One was accepted and never confirmed, the other one's answer was lost and it was found by its reference.
    expect(sum('tocsin_unresolved_at_deadline_total', { channel: 'sms' })).toBe(2);
    expect([sum('tocsin_double_contacts_total'), sum('tocsin_completion_seconds_count'), sum('tocsin_duplicates_prevented_total')]).toEqual([0, 0, 0]);
  });

  test('estimate what it cost: SMS that were taken or may have been, mails, and every read', () => {
    const taken = (channel: string) => sum('tocsin_submissions_total', { channel, result: 'accepted' }) + sum('tocsin_submissions_total', { channel, result: 'unknown' });
    expect(sum('tocsin_cost_estimate_total', { kind: 'sms' })).toBeCloseTo(0.1 * taken('sms') * smsSize(world.sandbox.messages().find(({ channel }) => channel === 'sms')?.text ?? '').segments, 6);
    expect(sum('tocsin_cost_estimate_total', { kind: 'email' })).toBeCloseTo(0.01 * taken('email'), 6);
    expect(sum('tocsin_cost_estimate_total', { kind: 'poll' })).toBeCloseTo(0.001 * sum('tocsin_polls_total'), 6);
  });

  test('count a job that comes again, and how long it took until somebody acted', async () => {
    const [row] = await world.ask(`SELECT attempt_key FROM attempt WHERE channel = 'sms' AND state = 'submitted' LIMIT 1`);
    const eventId = String(row?.['attempt_key']).split('.')[0] as string;
    const provider: Transport = { name: 'twilio', channel: 'sms', capabilities: PROVIDERS.twilio.capabilities, close: async () => undefined, submit: async () => { throw new Error('called'); } };
    await performAttempt(world.engine, String(row?.['attempt_key']), { transport: provider, submitStartWithinMs: 2_000, actor: 'test' });
    await closeNotification(world.engine, { tenant: null, eventId, reason: 'taken', actor: 'test', requestId: 'r' });
    ({ text } = await world.engine.metrics.scrape());
    expect(sum('tocsin_duplicates_prevented_total', { channel: 'sms', cause: 'already_started' })).toBe(1);
    expect([sum('tocsin_completion_seconds_count', { purpose: 'game-support-urgent' }), sum('tocsin_completion_seconds_sum')]).toEqual([1, 60]);
  });

  test('hold no id, address, secret or text', () => {
    const secrets = [...Object.values(SANDBOX_ACCOUNT), SENDER.sms, 'evt_', '+1202', '@example.com', 'locked out', 'oncall', ...world.keys.split(':')];
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/="[^"]*\d{7,}[^"]*"/);
  });
});
