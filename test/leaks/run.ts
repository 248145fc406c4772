import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMail } from '../faults/reports.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { postLogin, sessionCookie, signedWith } from '../support/sign-in.ts';
import type { Signed } from '../support/sign-in.ts';
import { SANDBOX_ACCOUNT, sandboxProviders } from '../support/sandbox-providers.ts';
import { linkOf, ONE_CLICK_BODY } from '../support/mailing.ts';
import type { Deployment } from './deployment.ts';
import type { Marker } from './markers.ts';
import { MARKED, REFUSED_CODE } from './markers.ts';
import { say } from './places.ts';
import type { Talk } from './talk.ts';
import { talkTo } from './talk.ts';

export type Role = 'viewer' | 'operator' | 'admin';
/** What came about in a run: whoever may look, what there is to look at, and the marks that are drawn by the product itself. */
export interface Ran { talk: Talk; folder: string; signed: Record<Role, Signed>; bearer: Record<string, string>; events: string[]; ticket: string; receipt: string; deadLetter: string; drawn: Partial<Record<Marker, string>> }

const M = MARKED;
const PENDING = [{ status: 'queued', afterMs: 0 }];
const DELIVERED = [{ status: 'delivered', afterMs: 2_000 }];
const sentence = (marked: string): string => `I did it since "${marked}" <b>said</b> so & asked me to`;

const recipient = (over: Record<string, unknown> = {}) => ({
  ref: M.ref, sms: M.sms, email: M.email, region: 'US', locale: 'en',
  consent: ['contract', 'on_call_duty', 'account_holder', 'report_notice', 'marketing'].flatMap((basis) => [`sms:${basis}`, `email:${basis}`]), ...over,
});
const RESET = { service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_url: `https://accounts.example.com/reset/${M.secretUrl}`, reset_code: M.secretCode };

const openDoors = async ({ dashboard, places }: Deployment, talk: Talk): Promise<Pick<Ran, 'signed' | 'bearer' | 'drawn'>> => {
  const key = JSON.parse((await talk.tocsin(['key', 'create', '--label', 'shop', '--json'])).out) as { api_key: string };
  const signed = {} as Record<Role, Signed>;
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    await talk.tocsin(['operator', 'add', role, '--role', role], `${M.password}-${role[0] as string}\n`);
    await postLogin(dashboard.url, { user: role, password: M.wrongPassword });
    const answer = await postLogin(dashboard.url, { user: role, password: `${M.password}-${role[0] as string}` });
    for (const cookie of answer.headers.getSetCookie()) say(places, 'set-cookie:POST /login', cookie);
    signed[role] = await signedWith(dashboard.url, sessionCookie(answer));
  }
  await postLogin(dashboard.url, { user: M.caller, password: M.wrongPassword });
  const value = ({ cookie }: Signed): string => cookie.slice(cookie.indexOf('=') + 1);
  const drawn = {
    apiKey: key.api_key, viewerCookie: value(signed.viewer), operatorCookie: value(signed.operator), adminCookie: value(signed.admin),
    viewerForm: signed.viewer.token, operatorForm: signed.operator.token, adminForm: signed.admin.token,
  };
  return { signed, bearer: { Authorization: `Bearer ${key.api_key}` }, drawn };
};

/** A ticket, and notifications of every purpose: delivered, by the fallback, refused, bounced, without an answer, unsubscribed, opened. */
const notify = async (deployment: Deployment, talk: Talk, bearer: Record<string, string>) => {
  const { world } = deployment;
  const script = (to: string, steps: unknown[]): void => { if (world.sandbox.setScenario(to, steps) !== null) throw new Error('no such script'); };
  script(M.sms, DELIVERED);
  script(M.fallbackSms, PENDING);
  let count = 0;
  const send = async (body: Record<string, unknown>): Promise<string> => {
    count += 1;
    const answer = await talk.json('POST /notifications', '/notifications', body, { ...bearer, 'Idempotency-Key': `${M.idempotencyKey}-${count}`, 'X-Request-Id': M.inHeader, 'User-Agent': M.inHeader });
    if (answer.status !== 202) throw new Error(answer.text);
    return String(answer.body['event_id']);
  };
  const submitted = (eventId: string, channel: Channel) => world.until(eventId, (state) => state.attempts.some((one) => one.channel === channel && one.state !== 'queued' && one.state !== 'submitting'));
  const taken = await talk.json('POST /tickets', '/tickets', {
    category: 'payment_lockout', message: `${M.message} <script>"locked out"</script>`, region: 'US', locale: 'en', player_ref: M.player, contact: { sms: M.contactSms, email: M.contactEmail },
  }, { 'Idempotency-Key': M.formKey });
  const reset = await send({ purpose: 'password-reset', recipient: recipient(), variables: RESET });
  await submitted(reset, 'email');
  const urgent = { category: 'c', queue: 'q', region: 'US', locale: 'en', player_ref: M.player, message: M.message, received_at: '2026-01-01T00:00:00Z', ticket_url: 'https://dashboard.example/tickets/x' };
  const paged = (over: Record<string, unknown>): Promise<string> => send({ purpose: 'game-support-urgent', recipient: recipient({ sms: M.fallbackSms, email: M.fallbackEmail, ...over }), variables: urgent });
  const fallback = await paged({});
  await submitted(fallback, 'sms');
  for (const [number, steps] of [['+12025557741', [{ submit: 'reject', code: REFUSED_CODE }]], ['+12025557742', [{ submit: 'lose_response' }]], ['+12025557743', [{ submit: 'nonsense' }]], ['+12025557744', [{ submit: 'reject', code: 21_610 }]]] as const) {
    script(number, [...steps]);
    await submitted(await paged({ sms: number }), 'sms');
  }
  const order = await send({ purpose: 'seller-order', recipient: recipient(), variables: { order_id: '1001', item: M.item, act_by: '18:30 UTC', order_url: `https://shop.example.com/o/${M.order}` }, precondition_url: `${world.origin.url}/orders/${M.order}/needs-action` });
  await submitted(order, 'email');
  await world.advance(40_000);
  await submitted(fallback, 'email');
  const key = (await world.state(fallback)).attempts.find((one) => one.channel === 'email')?.key as string;
  const mail = world.sandbox.messages().find((one) => one.attempt_key === key);
  await writeFile(join(world.mailbox, 'new', 'bounce-1'), reportMail({ action: 'failed', status: '5.1.1', diagnostic: `550 ${M.bounce} no such user ${M.fallbackEmail}`, messageId: mail?.headers['message-id'] ?? null, to: [M.fallbackEmail] }));
  await world.coordinator.attendBounces();
  const offer = await send({ purpose: 'shop-offers', recipient: recipient(), variables: { offer: M.item } });
  await submitted(offer, 'email');
  const unsubscribe = linkOf(world.sandbox.messages().find((one) => one.attempt_key === `${offer}.email.1`)?.headers['list-unsubscribe']).pathname;
  await talk.api('GET /unsubscribe', unsubscribe);
  await talk.api('POST /unsubscribe', unsubscribe, { method: 'POST', body: new URLSearchParams(ONE_CLICK_BODY) });
  return { send, paged, submitted, taken, reset, fallback, order, offer, unsubscribeToken: unsubscribe.split('/').at(-1) as string };
};

/** A report, its link, and its code. */
const report = async ({ world }: Deployment, talk: Talk, bearer: Record<string, string>, send: (body: Record<string, unknown>) => Promise<string>) => {
  const stored = await talk.api('POST /artifacts', '/artifacts', { method: 'POST', headers: { ...bearer, 'Content-Type': 'application/pdf' }, body: `%PDF-1.4 ${M.artifact.repeat(50)}` });
  const eventId = await send({ purpose: 'account-report', recipient: recipient(), variables: { report_title: M.title }, artifacts: [stored.body['artifact']] });
  await world.until(eventId, (state) => state.attempts.every((one) => one.state === 'submitted' || one.state === 'delivered'));
  const said = (holds: RegExp): string => world.sandbox.messages().map((one) => holds.exec(`${one.subject ?? ''} ${one.body ?? ''} ${one.text ?? ''}`)?.[1]).findLast((one) => one !== undefined) ?? '';
  const reportToken = said(/\/reports\/([\w-]{43})/);
  const received = new Promise<void>((resolve) => { const stop = world.sandbox.onReceipt(() => { stop(); resolve(); }); });
  await talk.api('GET /reports', `/reports/${reportToken}`, { headers: { Accept: 'text/html' } });
  await talk.json('POST /reports/code', `/reports/${reportToken}/code`, {});
  await received;
  const reportCode = said(/\b(\d{6})\b/);
  await talk.json('POST /reports/open (wrong)', `/reports/${reportToken}/open`, { code: '000000' });
  await talk.json('POST /reports/open', `/reports/${reportToken}/open`, { code: reportCode });
  return { eventId, reportToken, reportCode };
};

/** What operators do and say: by the dashboard, the API and the command line. */
const operate = async ({ world, dashboard }: Deployment, talk: Talk, { signed, bearer }: Pick<Ran, 'signed' | 'bearer'>, events: { held: string; api: string; failed: string[] }): Promise<string> => {
  const own = { Cookie: signed.operator.cookie, Origin: dashboard.url };
  const act = (kind: string, reason: string) => talk.form(`POST /notifications/${kind}`, `/notifications/${events.held}/${kind}`, { reason: sentence(reason), token: signed.operator.token }, own);
  await act('pause', M.pauseReason);
  await act('resume', M.resumeReason);
  await act('pause', M.pauseReason);
  for (const [kind, reason] of [['pause', M.pauseReason], ['resume', M.resumeReason], ['close', M.closeReason]] as const) await talk.json(`POST /notifications/${kind}`, `/notifications/${events.api}/${kind}`, { reason: sentence(reason), actor: M.caller }, bearer);
  for (const [kind, reason] of [['pause', M.pauseReason], ['resume', M.resumeReason], ['close', M.closeReason]] as const) await talk.tocsin([kind, events.api, '--reason', sentence(reason)]);
  const letters = await world.ask('SELECT id::text FROM dead_letter WHERE event_id = ANY($1) ORDER BY id', [events.failed]);
  const [first, second] = letters.map(({ id }) => String(id)) as [string, string];
  await world.coordinator.attendDeadLetters();
  const stated = await talk.form('POST /reason', '/reason', { reason: sentence(M.boardReason), token: signed.operator.token }, own);
  const reason = /tocsin_reason=[^;]+/.exec(stated.headers.get('set-cookie') ?? '')?.[0] ?? '';
  await talk.page('PUT /queues/retry', `/queues/api/queues/sms-dead-letter/dead-letter-${first}-s0/retry/failed`, { method: 'PUT', headers: { ...own, Cookie: `${signed.operator.cookie}; ${reason}` } });
  await talk.page('GET /reason', '/reason', { headers: { ...own, Cookie: `${signed.operator.cookie}; ${reason}` } });
  await talk.tocsin(['dead-letters', 'retry', second, '--reason', sentence(M.retryReason), '--yes', '--even-if-delivered', '--accept-duplicate']);
  await talk.tocsin(['suppress', 'add', '--channel', 'sms', '--address', M.fallbackSms, '--reason', sentence(M.suppressReason)]);
  await talk.tocsin(['suppress', 'add', '--channel', 'sms', '--address', M.fallbackSms, '--reason', 'requested']);
  await talk.tocsin(['suppress', 'remove', '--channel', 'sms', '--address', M.fallbackSms, '--reason', sentence(M.suppressReason)]);
  await talk.tocsin(['consent', 'withdraw', '--channel', 'email', '--address', M.fallbackEmail, '--basis', 'marketing', '--reason', 'requested']);
  await talk.tocsin(['policy', 'activate', 'game-support-urgent', '1', '--reason', sentence(M.activateReason)]);
  return second;
};

/** Requests that are wrong, with what should be elsewhere in them. */
const misuse = async ({ dashboard }: Deployment, talk: Talk, bearer: Record<string, string>, drawn: Ran['drawn']): Promise<void> => {
  const key = { ...bearer, 'Idempotency-Key': 'wrong' };
  const bad = (body: unknown, headers: Record<string, string> = key) => talk.json('POST /notifications (refused)', '/notifications', body, headers);
  const body = { purpose: 'password-reset', recipient: recipient(), variables: RESET };
  await bad({ ...body, purpose: M.wrongField });
  await bad({ ...body, recipient: recipient({ sms: `${M.sms}x`, email: `${M.email}@`, region: M.wrongField, locale: M.wrongField, consent: [M.wrongField], time_zone: M.wrongField }) });
  await bad({ ...body, variables: { ...RESET, [M.nested]: M.nested, reset_url: `http://${M.secretUrl}.example` } });
  await bad({ ...body, expires_at: M.wrongField, artifacts: [M.wrongField], precondition_url: `https://${M.wrongField}.example/${M.order}` });
  await bad(`{"recipient": {"sms": "${M.sms}", "x": "${M.malformed}`);
  await bad(body, { Authorization: `Bearer ${M.wrongField}`, 'Idempotency-Key': 'wrong' });
  await bad(body, { Authorization: `Basic ${Buffer.from(`${M.caller}:${M.wrongPassword}`).toString('base64')}` });
  await bad(body, { ...bearer, 'Idempotency-Key': `${M.wrongField} with ${M.email}` });
  await talk.json('POST /tickets (refused)', '/tickets', { category: M.wrongField, message: M.message, region: M.wrongField, locale: 'en', player_ref: M.player, contact: { sms: `${M.contactSms}x`, email: `${M.contactEmail}@` } });
  await talk.json('POST /tickets (refused)', '/tickets', { category: 'payment_lockout', message: 7, region: 'US', locale: 'en', player_ref: { [M.nested]: 1 }, contact: M.contactEmail });
  for (const path of [`/notifications/${M.inUrl}`, `/notifications/${encodeURIComponent(M.email)}`, `/receipts/${M.inUrl}`, `/reports/${M.inUrl}${'x'.repeat(32)}`, `/unsubscribe/${M.inUrl}`, `/${M.inUrl}?token=${M.inUrl}`, `/notifications?after=${M.inUrl}`, `/%${M.inUrl}`]) {
    for (const method of ['GET', 'POST']) await talk.api(`${method} /${path.split('/')[1]?.split('?')[0]?.replace(M.inUrl, 'x') ?? ''} (wrong address)`, path, { method, headers: { ...bearer, Referer: `https://x.example/${M.inUrl}`, 'X-Request-Id': M.inHeader } });
  }
  for (const path of [`/notifications/${M.inUrl}`, `/tickets/${encodeURIComponent(M.email)}`, `/?search=${M.inUrl}`, `/${M.inUrl}`, `/%${M.inUrl}`]) await talk.page('GET (wrong address)', path, { headers: { Cookie: `tocsin_session=${String(drawn.adminCookie)}` } });
  for (const actor of [M.caller, M.email]) await talk.page('GET /audit?actor', `/audit?actor=${encodeURIComponent(actor)}`, { headers: { Cookie: `tocsin_session=${String(drawn.adminCookie)}` } });
  await talk.page('GET (no session)', `/notifications/${M.inUrl}`, { headers: { Cookie: `tocsin_session=${M.inUrl}` } });
  await talk.form('POST /reason (refused)', '/reason', { reason: sentence(M.boardReason), token: M.wrongField }, { Cookie: `tocsin_session=${String(drawn.viewerCookie)}`, Origin: dashboard.url });
  await talk.tocsin(['show', M.inUrl]);
  await talk.tocsin(['close', M.inUrl, '--reason', sentence(M.closeReason)]);
  await talk.tocsin(['dead-letters', 'show', M.inUrl]);
};

/** A transport that throws, and one that is not let in. */
const crash = async ({ world }: Deployment, paged: (over: Record<string, unknown>) => Promise<string>): Promise<void> => {
  const settings = { submitStartWithinMs: 2_000, actor: 'crash' };
  const providers = sandboxProviders(world.sandbox, { sms: 'twilio', email: 'smtp' }, SANDBOX_ACCOUNT);
  const smtpUrl = new URL(world.sandbox.smtpUrl);
  Object.assign(smtpUrl, { username: 'mailer', password: M.smtpPassword });
  const refused = openTransport('email', { ...providers, email: { name: 'smtp', url: smtpUrl.href }, timeoutMs: 1_500, now: world.now });
  const throwing = { name: 'twilio', channel: 'sms', submit: ({ message }: { message: unknown }) => Promise.reject(new Error(`${M.thrown} ${JSON.stringify(message)}`)) } as unknown as Transport;
  await world.whileDown(async () => {
    const eventId = await paged({ sms: '+12025557751' });
    await performAttempt(world.engine, `${eventId}.sms.1`, { ...settings, transport: throwing });
    const byMail = await paged({ sms: undefined });
    await performAttempt(world.engine, `${byMail}.email.1`, { ...settings, transport: refused });
    await refused.close();
  });
};

/** Everything happens: see the functions above. Ends with all of it settled or waiting, and workers at rest. */
export const runAll = async (deployment: Deployment): Promise<Ran> => {
  const { world } = deployment;
  const folder = await mkdtemp(join(tmpdir(), 'leaks-'));
  const talk = talkTo(deployment, folder);
  const { signed, bearer, drawn } = await openDoors(deployment, talk);
  const told = await notify(deployment, talk, bearer);
  const reported = await report(deployment, talk, bearer, told.send);
  const failed: string[] = [];
  await world.whileDown(async () => {
    for (const sms of ['+12025557761', '+12025557762']) {
      const eventId = await told.paged({ email: undefined, sms });
      await decideAndAppend(world.engine, eventId, { provenance: { actor: 'test', requestId: `drift-${sms.slice(-2)}` }, command: () => ({ kind: 'refuse_to_submit', attempt: `${eventId}.sms.1`, reason: 'render_drift' }) });
      failed.push(eventId);
    }
  });
  const held = await told.paged({ sms: '+12025557771' });
  const api = await told.paged({ sms: '+12025557772' });
  const deadLetter = await operate(deployment, talk, { signed, bearer }, { held, api, failed });
  await misuse(deployment, talk, bearer, drawn);
  await crash(deployment, told.paged);
  // Paused past half of its life: somebody is paged.
  world.jump(10 * 60_000);
  await world.coordinator.sweep();
  await world.coordinator.alerts?.tick();
  await deployment.pager.until(2, ({ path }) => path !== '/heartbeat');
  return {
    talk, folder, signed, bearer, deadLetter, ticket: String(told.taken.body['event_id']), receipt: new URL(String(told.taken.body['status_url'])).pathname,
    events: [told.reset, told.fallback, told.order, told.offer, reported.eventId, held, api, ...failed],
    drawn: { ...drawn, receiptToken: String(told.taken.body['status_url']).split('/').at(-1) as string, reportToken: reported.reportToken, reportCode: reported.reportCode, unsubscribeToken: told.unsubscribeToken },
  };
};
