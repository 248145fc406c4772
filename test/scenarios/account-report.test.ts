import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ConsentReference } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { ContentSnapshot } from '../../shared/domain/transitions.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { expectAnswers } from '../support/answers.ts';
import { describeOnBackends } from '../support/backends.ts';
import { acceptReport, artifactFiles, sha256, storeReport } from '../support/reports.ts';
import { openWorld } from '../support/world.ts';
import { GOLDEN } from './account-report.golden.ts';
import type { World } from '../support/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
let line = 0;

const toldIn = async (world: World, eventId: string): Promise<string[]> => {
  const state = await world.state(eventId);
  const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
  const entries = (await readEntries(world.engine.db, eventId)).map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) }));
  return explain(state, entries, policy);
};
/** The sentences without what is drawn anew each time; sorted, since two channels go at once and either may be first. */
const golden = (sentences: string[]): string[] => sentences.map((one) => one
  .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'T').replace(/art_[0-9A-Z]{26}/g, 'ARTIFACT').replace(/\b[0-9a-f]{12}\b/g, 'HASH')).sort();

describeOnBackends('an account report', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend }); });
  afterAll(() => world.close());

  /** A number and an address of their own, with scripts for what becomes of their messages. */
  const scripted = (sms: unknown[] | null, email: unknown[] | null = null): { sms: string; email: string } => {
    line += 1;
    const to = { sms: `+1202555${String(3_000 + line)}`, email: `holder-${line}@example.com` };
    if (sms) expect(world.sandbox.setScenario(to.sms, sms as never)).toBeNull();
    if (email) expect(world.sandbox.setScenario(to.email, email as never)).toBeNull();
    return to;
  };
  const DELIVERED = [{ submit: 'accept' }, { status: 'delivered', afterMs: 2_000 }];
  /** Not processed now, and not to be tried again for an hour. */
  const LATER = [{ submit: 'throttle', retryAfter: 3_600 }, { submit: 'accept' }];
  const got = (eventId: string, channel: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}.`));
  const told = (eventId: string) => toldIn(world, eventId);
  /** Every sentence of the explanation, as it was reviewed once. */
  const tells = async (name: keyof typeof GOLDEN, eventId: string, aside = /^$/) => {
    await expectAnswers(world, eventId, `account-report/${name}`);
    expect([name, golden(await told(eventId)).filter((sentence) => !aside.test(sentence))]).toEqual([name, GOLDEN[name].toSorted()]);
  };
  const attemptOf = async (eventId: string, channel: string) => (await world.state(eventId)).attempts.find((one) => one.channel === channel);
  const until = (eventId: string, wanted: Record<string, string>) =>
    world.until(eventId, (state) => Object.entries(wanted).every(([channel, name]) => state.attempts.some((one) => one.channel === channel && one.state === name)));
  const snapshotOf = async (eventId: string, channel: string) => {
    const planned = (await readEntries(world.engine.db, eventId)).map(detailsOf).find((details) => details['channel'] === channel && 'render_hash' in details);
    return planned as unknown as { content: ContentSnapshot; render_hash: string; template_version: number };
  };
  const small = async (to: { sms: string | null; email: string | null; consent?: ConsentReference[]; locale?: string; region?: string }): Promise<string> => acceptReport(world.engine, await storeReport(world.engine, randomBytes(1_000)), to);

  test('of 20 MB is attached by reference: the queue and the ledger carry its id, and the mail its bytes', async () => {
    const bytes = randomBytes(20 * 1024 * 1024);
    const artifact = await storeReport(world.engine, bytes);
    const eventId = await acceptReport(world.engine, artifact, scripted(DELIVERED));
    await until(eventId, { sms: 'submitted', email: 'submitted' });
    const [mail] = got(eventId, 'email');
    expect(mail?.attachments).toEqual([{ name: 'report.pdf', type: 'application/pdf', bytes: bytes.length, sha256: sha256(bytes) }]);
    expect(mail?.text).toContain('It is attached');
    expect(got(eventId, 'sms')[0]?.body).toMatch(/^Tocsin: your report is in your email\. .*https:\/\/tocsin\.example\.com\/reports\/[\w-]{43} Ref/);
    expect(await world.ask('SELECT artifact_references FROM notification WHERE event_id = $1', [eventId])).toEqual([{ artifact_references: [artifact.artifactId] }]);
    await world.advance(MINUTE);
    // The mail server's acceptance is all it ever says, so the email is never called delivered.
    expect([await world.status(eventId), (await attemptOf(eventId, 'email'))?.state]).toEqual(['partially_delivered', 'submitted']);
  });

  test('says in its record what was said: template, locale, hashes, segments and what was attached, and nothing that could be read', async () => {
    const artifact = await storeReport(world.engine, randomBytes(1_000));
    const eventId = await acceptReport(world.engine, artifact, { ...scripted(DELIVERED), locale: 'de-AT' });
    await until(eventId, { sms: 'submitted', email: 'submitted' });
    const [sms, email] = [await snapshotOf(eventId, 'sms'), await snapshotOf(eventId, 'email')];
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(sms).toMatchObject({ template_version: 1, render_hash: hash, content: { template_owner: 'ours', locale: 'de', variables_hash: hash, text_hash: hash, segments: 2, attachments: [] } });
    expect(email.content).toEqual({ template_owner: 'ours', locale: 'de', variables_hash: hash, attachments: [{ artifact: artifact.artifactId, sha256: artifact.sha256 }] });
    expect(got(eventId, 'sms')[0]?.segments).toBe(sms.content.segments);
    // Salted: the text's own hash would tell whether a guess is right.
    expect(sms.content.text_hash).not.toBe(sha256(Buffer.from(got(eventId, 'sms')[0]?.body ?? '')));
    const kept = JSON.stringify(await world.ask('SELECT body FROM ledger_entry WHERE event_id = $1', [eventId]));
    for (const secret of ['/reports/', 'October', 'holder-', '+1202555']) expect(kept).not.toContain(secret);
    await world.advance(MINUTE);
    await tells('normal', eventId);
  });

  test('that is too large for a mail is linked and not attached', async () => {
    const artifact = await storeReport(world.engine, Buffer.alloc(21_000_001));
    const eventId = await acceptReport(world.engine, artifact, scripted(DELIVERED));
    await until(eventId, { email: 'submitted' });
    const [mail] = got(eventId, 'email');
    expect(mail).not.toHaveProperty('attachments');
    expect(mail?.text).toMatch(/too large to be attached\. Open it here:\r?\n\r?\n?https:\/\/tocsin\.example\.com\/reports\/[\w-]{43}/);
    await world.advance(HOUR);
  });

  test('with a flipped byte in the store is a dead letter with the reason, and nothing of it arrives; mended and retried, it does', async () => {
    const bytes = randomBytes(2_000_000);
    const before = new Set(await artifactFiles(world.artifactDir));
    const artifact = await storeReport(world.engine, bytes);
    const path = (await artifactFiles(world.artifactDir)).find((one) => !before.has(one)) as string;
    const whole = await readFile(path);
    const flipped = Buffer.from(whole);
    flipped[1_500_000] = (flipped[1_500_000] as number) ^ 1;
    await writeFile(path, flipped);
    const to = scripted(DELIVERED);
    const eventId = await acceptReport(world.engine, artifact, to);
    await until(eventId, { sms: 'submitted', email: 'dead_lettered' });
    expect(await attemptOf(eventId, 'email')).toMatchObject({ reason: 'artifact_damaged', submissions: 1 });
    expect(await world.ask('SELECT reason, resolved_at FROM dead_letter WHERE event_id = $1', [eventId])).toEqual([{ reason: 'artifact_damaged', resolved_at: null }]);
    expect([...world.sandbox.messages(), ...world.sandbox.refused()].filter((one) => one.to === to.email)).toEqual([]);
    expect((await told(eventId)).join('\n')).toContain('Email stopped at');
    await tells('flipped byte', eventId);
    await writeFile(path, whole);
    const retried = await retryAttempt(world.engine, { tenant: null, attempt: `${eventId}.email.1`, reason: 'fixed', overrides: { evenIfDelivered: true, acceptDuplicate: false }, actor: 'ana', requestId: 'r' });
    expect(retried).toMatchObject({ kind: 'retried', means: 'new_attempt', attempt: `${eventId}.email.2` });
    await world.until(eventId, (state) => state.attempts.some((one) => one.key === `${eventId}.email.2` && one.state === 'submitted'));
    expect(got(eventId, 'email').map((one) => one.attachments?.[0]?.sha256)).toEqual([sha256(bytes)]);
    await world.advance(HOUR);
  });

  test('whose file is gone is a dead letter that says so', async () => {
    const artifact = await storeReport(world.engine, randomBytes(1_000));
    await world.engine.artifacts.remove({ tenant: 'default', artifact: artifact.artifactId });
    const eventId = await acceptReport(world.engine, artifact, scripted(DELIVERED));
    await until(eventId, { email: 'dead_lettered' });
    expect((await attemptOf(eventId, 'email'))?.reason).toBe('artifact_missing');
    await world.advance(HOUR);
  });

  test('whose mail server loses its answer is partially delivered once the SMS is confirmed, and the email is never sent again', async () => {
    const eventId = await small(scripted(DELIVERED, [{ submit: 'lose_response' }]));
    await until(eventId, { sms: 'submitted', email: 'submitted_unknown' });
    await world.advance(MINUTE);
    expect(await world.status(eventId)).toBe('partially_delivered');
    await world.advance(30 * HOUR);
    expect([await world.status(eventId), (await attemptOf(eventId, 'email'))?.state]).toEqual(['partially_delivered', 'submitted_unknown']);
    expect(got(eventId, 'email')).toHaveLength(1);
    expect((await told(eventId)).join('\n')).toContain('on_unknown: hold, so it is never sent again on a guess');
    await tells('one channel unknown', eventId);
  });

  test('without the consent of its own that an SMS needs is an email alone', async () => {
    const eventId = await small({ ...scripted(DELIVERED), consent: [{ channel: 'email', basis: 'contract', reference: 'c' }, { channel: 'sms', basis: 'contract', reference: 'c' }] });
    await until(eventId, { email: 'submitted' });
    expect((await world.state(eventId)).steps.map(({ channel, phase, reason }) => [channel, phase, reason])).toEqual([['email', 'started', null], ['sms', 'skipped', 'no_consent']]);
    expect([await world.status(eventId), got(eventId, 'sms').length]).toEqual(['sent', 0]);
    expect((await told(eventId)).join('\n')).toMatch(/SMS, step 2 of policy account-report\/1, was skipped at \S+ \(no_consent\): there is no consent or other basis/);
    await world.advance(HOUR);
    await tells('no consent for SMS', eventId);
  });

  test('that one provider refuses still goes by the other; refused by both it is undelivered', async () => {
    const one = await small(scripted([{ submit: 'reject', code: 21211 }]));
    await until(one, { sms: 'rejected', email: 'submitted' });
    expect(await world.status(one)).toBe('sent');
    const both = await small(scripted([{ submit: 'reject', code: 21211 }], [{ submit: 'reject', code: 550 }]));
    await until(both, { sms: 'rejected', email: 'rejected' });
    expect(await world.status(both)).toBe('undelivered');
    await world.advance(HOUR);
    await tells('rejected by one', one);
    await tells('rejected by both', both);
  });

  test('that no provider takes in time expires: nothing is sent after that', async () => {
    const eventId = await small(scripted(LATER, LATER));
    await world.until(eventId, (state) => state.attempts.length === 2 && state.attempts.every((one) => one.generation > 1));
    world.jump(25 * HOUR);
    await world.coordinator.sweep();
    expect([await world.status(eventId), ...(await world.state(eventId)).attempts.map((one) => one.state)]).toEqual(['expired', 'expired', 'expired']);
    expect(got(eventId, 'sms').length + got(eventId, 'email').length).toBe(0);
    await tells('expired', eventId);
  });

  test('that is paused waits with both channels, and goes on by both once resumed', async () => {
    const eventId = await small(scripted([...LATER, { status: 'delivered', afterMs: 2_000 }], LATER));
    const request = { tenant: null, eventId, reason: 'wrong_person', actor: 'ana', requestId: 'p' };
    await world.until(eventId, (state) => state.attempts.length === 2 && state.attempts.every((one) => one.generation > 1));
    await pauseNotification(world.engine, request);
    world.jump(2 * HOUR);
    await world.coordinator.sweep();
    expect(got(eventId, 'sms').length + got(eventId, 'email').length).toBe(0);
    await resumeNotification(world.engine, request);
    await until(eventId, { sms: 'submitted', email: 'submitted' });
    await world.advance(MINUTE);
    expect(await world.status(eventId)).toBe('partially_delivered');
    await tells('paused and resumed', eventId);
  });

  test('to a suppressed number is an email alone; suppressed on both channels it is suppressed', async () => {
    const [one, both] = [scripted(DELIVERED), scripted(DELIVERED)];
    const suppress = (channel: 'sms' | 'email', address: string) => suppressDestination(world.engine, { tenant: 'default', channel, address, reason: 'requested', actor: 'ana' });
    await suppress('sms', one.sms);
    await suppress('sms', both.sms);
    await suppress('email', both.email);
    const [first, second] = [await small(one), await small(both)];
    await until(first, { email: 'submitted' });
    expect([await world.status(first), await world.status(second)]).toEqual(['sent', 'suppressed']);
    expect((await world.state(second)).steps.map(({ phase, reason }) => [phase, reason])).toEqual([['skipped', 'suppressed'], ['skipped', 'suppressed']]);
    await world.advance(HOUR);
    await tells('suppressed on one channel', first);
    await tells('suppressed on both', second);
  });

  test('that is closed before it went out goes out by neither channel', async () => {
    const eventId = await small(scripted(LATER, LATER));
    await world.until(eventId, (state) => state.attempts.length === 2 && state.attempts.every((one) => one.generation > 1));
    expect(await closeNotification(world.engine, { tenant: null, eventId, reason: 'cancelled', actor: 'ana', requestId: 'c' })).toMatchObject({ kind: 'closed' });
    await world.advance(2 * HOUR);
    expect([await world.status(eventId), ...(await world.state(eventId)).attempts.map((one) => one.state)]).toEqual(['closed', 'cancelled', 'cancelled']);
    expect(got(eventId, 'sms').length + got(eventId, 'email').length).toBe(0);
    await tells('closed', eventId);
  });

  test('whose SMS lost its answer is found by its reference and adopted, and is delivered then, with one message', async () => {
    const eventId = await small(scripted([{ submit: 'lose_response' }, { status: 'delivered', afterMs: 3_000 }]));
    await until(eventId, { sms: 'submitted_unknown', email: 'submitted' });
    await world.advance(2 * MINUTE);
    expect([await world.status(eventId), (await attemptOf(eventId, 'sms'))?.state]).toEqual(['partially_delivered', 'delivered']);
    expect([await world.kinds(eventId), got(eventId, 'sms').length]).toEqual([expect.arrayContaining(['AttemptAdopted']), 1]);
    await tells('lost response, then delivered', eventId);
  });

  test('whose SMS is delivered only after its deadline is told so late, and nothing else is started for it', async () => {
    const eventId = await small(scripted([{ submit: 'accept' }, { status: 'sent', afterMs: 500 }, { status: 'delivered', afterMs: 20 * MINUTE }]));
    await until(eventId, { sms: 'submitted', email: 'submitted' });
    await world.advance(11 * MINUTE);
    expect(await world.status(eventId)).toBe('sent');
    await world.advance(2 * HOUR);
    expect([await world.status(eventId), (await attemptOf(eventId, 'sms'))?.state]).toEqual(['partially_delivered', 'delivered']);
    expect([got(eventId, 'sms').length, got(eventId, 'email').length]).toEqual([1, 1]);
    await tells('delivered late', eventId);
  });

  test('whose SMS stays with the provider through its deadline is sent, and never called delivered', async () => {
    const eventId = await small(scripted([{ submit: 'accept' }, { status: 'queued' }]));
    await until(eventId, { sms: 'submitted', email: 'submitted' });
    await world.advance(11 * MINUTE);
    world.jump(24 * HOUR);
    await world.coordinator.sweep();
    await world.advance(2 * HOUR);
    expect([await world.status(eventId), got(eventId, 'sms').length, got(eventId, 'email').length]).toEqual(['sent', 1, 1]);
    // Whether a read that fell due together with the end was made before or after it is the day's luck; it changes nothing.
    await tells('pending through the deadline', eventId, /came too late to count/);
  });

  test('to a region that the policy does not cover is refused, and nothing is sent', async () => {
    const eventId = await small({ ...scripted(DELIVERED), region: 'JP' });
    expect([await world.status(eventId), got(eventId, 'sms').length, got(eventId, 'email').length]).toEqual(['policy_rejected', 0, 0]);
    await tells('region not covered', eventId);
  });
});

describeOnBackends('an account report by a mail provider that can be asked', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend, transports: { sms: 'twilio', email: 'resend' } }); });
  afterAll(() => world.close());

  test('is delivered once both channels are, and partially until then; its attachment has the checksum it was stored with', async () => {
    const bytes = randomBytes(1_500_000);
    const artifact = await storeReport(world.engine, bytes);
    const to = { sms: '+12025553900', email: 'asked@example.com' };
    expect(world.sandbox.setScenario(to.sms, [{ submit: 'accept' }, { status: 'delivered', afterMs: 2_000 }] as never)).toBeNull();
    expect(world.sandbox.setScenario(to.email, [{ submit: 'accept' }, { status: 'sent', afterMs: 500 }, { status: 'delivered', afterMs: 30_000 }] as never)).toBeNull();
    const eventId = await acceptReport(world.engine, artifact, to);
    await world.until(eventId, (state) => state.attempts.length === 2 && state.attempts.every((one) => one.state === 'submitted'));
    expect(world.sandbox.messages().find((one) => one.to === to.email)?.attachments).toEqual([{ name: 'report.pdf', type: 'application/pdf', bytes: bytes.length, sha256: sha256(bytes) }]);
    await world.advance(25_000);
    expect(await world.status(eventId)).toBe('partially_delivered');
    await world.advance(60_000);
    expect(await world.status(eventId)).toBe('delivered');
    expect((await toldIn(world, eventId)).at(-1)).toMatch(/^The notification settled at \S+ as \*delivered\*\.$/);
  });
});
