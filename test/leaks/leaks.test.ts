import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeOnBackends } from '../support/backends.ts';
import { encodingsOf } from '../support/traces.ts';
import type { Deployment } from './deployment.ts';
import { openDeployment } from './deployment.ts';
import type { Marker } from './markers.ts';
import { MARKED, MAY_STAND } from './markers.ts';
import type { Found } from './places.ts';
import { findIn, leaksOf } from './places.ts';
import type { Ran } from './run.ts';
import { runAll } from './run.ts';
import { usedIn, walkAll } from './walk.ts';

/** Of these something must have been caught, or the walk went past them. */
const PLACES = [
  /^log$/, /^metrics$/, /^alert:\/hook$/, /^alert:\/api\/v2\/alerts$/, /^db:public\.(ledger_entry|attempt|outbox|alert|audit_entry|dead_letter|observation_raw|sealed_payload|operator_session|report_link)\./, /^dump:public\.notification$/,
  /^page:(viewer|operator|admin) \/at-risk$/, /^page:(viewer|operator|admin) \/queues\/api\/queues$/, /^api:GET \/notifications\/:event_id\/explanation$/, /^cli:dead-letters show$/, /^cli:audit list$/, /^file:artifacts$/,
];
/** Kept by nobody, or not by anything that can be opened here: told to the product, and to be seen nowhere. */
const NEVER_KEPT: readonly Marker[] = [
  'formKey', 'password', 'wrongPassword', 'caller', 'bounce', 'boardReason', 'suppressReason', 'activateReason', 'providerText', 'thrown', 'originSecret', 'webhookSecret', 'twilioToken', 'smtpPassword', 'wrongField', 'inUrl', 'inHeader', 'malformed', 'nested', 'idempotencyKey', 'artifact',
];

describeOnBackends('a run with marked secrets, addresses and words', (backend) => {
  let deployment: Deployment | undefined;
  let ran: Ran | undefined;
  let marked: Partial<Record<Marker, string>>;
  let found: Found[];
  let used: string;
  beforeAll(async () => {
    deployment = await openDeployment(backend);
    ran = await runAll(deployment);
    used = await usedIn(deployment);
    await walkAll(deployment, ran);
    marked = { ...MARKED, ...ran.drawn };
    found = findIn(deployment.places, marked);
  }, 240_000);
  afterAll(async () => {
    await deployment?.close();
    if (ran) await rm(ran.folder, { recursive: true, force: true });
  });

  test('leaves them nowhere but where they belong: no log, page, answer, payload, alert, table or file has them, in no encoding', () => {
    expect(leaksOf(found, MAY_STAND)).toEqual([]);
  });

  test('needs each exception that its table makes', () => {
    expect(MAY_STAND.filter(({ marker, at }) => !marker.some((one) => found.some((seen) => seen.marker === one && at.test(seen.place)))).map(({ why }) => why)).toEqual([]);
  });

  test('really used them, and looked everywhere', () => {
    const sealed = Object.entries(MARKED).filter(([marker]) => !NEVER_KEPT.includes(marker as Marker));
    expect(sealed.filter(([, text]) => !used.includes(text)).map(([marker]) => marker)).toEqual([]);
    expect(Object.entries(marked).filter(([, text]) => text.length < 6)).toEqual([]);
    const places = [...deployment?.places.keys() ?? []];
    const queue = backend.kind === 'redis' ? [/^queue:commands$/, /^queue:kept$/] : [/^db:bullmq\.\w+\./, /^dump:bullmq\./];
    expect([...PLACES, ...queue].filter((wanted) => !places.some((place) => wanted.test(place)))).toEqual([]);
  });

  test.each([
    ['the log', 'log', 'closeReason', (text: string) => JSON.stringify({ body: text })],
    ['a queue\'s payload', 'queue:commands', 'sms', (text: string) => JSON.stringify({ to: text })],
    ['the reason of a failed job', 'db:bullmq.job.failedReason', 'providerText', (text: string) => text],
    ['a metric\'s label', 'metrics', 'email', (text: string) => `x{to="${text}"} 1`],
    ['a page', 'page:admin /', 'contactEmail', (text: string) => encodeURIComponent(text)],
    ['an alert', 'alert:/hook', 'message', (text: string) => Buffer.from(`it says ${text}, and more`).toString('base64')],
    ['a table\'s bytes', 'db:public.alert.facts', 'ref', (text: string) => `\\x${Buffer.from(text).toString('hex')}`],
    ['an answer to somebody else', 'api:GET /notifications', 'secretCode', (text: string) => `=3D${text}`],
  ] as const)('would be seen in %s', (_where, place, marker, write) => {
    const planted = findIn(new Map([[place, [`before ${write(MARKED[marker])} after`]]]), MARKED);
    expect(leaksOf(planted, MAY_STAND).join()).toContain(`${marker} at ${place}`);
  });

  test('would be seen in each encoding', () => {
    for (const as of encodingsOf(MARKED.email)) expect(findIn(new Map([['log', [as]]]), { email: MARKED.email })).not.toEqual([]);
  });
});
