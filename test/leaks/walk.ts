import { readFile } from 'node:fs/promises';
import { createDashboard } from '../../services/dashboard/dashboard.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { artifactFiles } from '../support/reports.ts';
import { dumpOf, redisHeap } from '../support/traces.ts';
import type { Deployment } from './deployment.ts';
import { say } from './places.ts';
import type { Ran, Role } from './run.ts';

const pages = async ({ world, dashboard }: Deployment, { talk, signed, events, ticket }: Ran): Promise<void> => {
  const app = createDashboard({ engine: world.engine, queue: world.queue, log: world.engine.log, config: { host: '', port: 0, operator: { user: 'first', password: '' } } });
  const { stack } = app.router as unknown as { stack: { route?: { path: string; methods: Record<string, boolean> } }[] };
  const routes = stack.flatMap(({ route }) => (route?.methods['get'] ? [route.path] : []));
  const fill = (path: string, eventId: string): string => path.replace(':event_id', eventId).replace(':name', 'game-support-urgent-email').replace(':version', '1').replace(':channel', 'sms');
  const board = ['/queues/', ...['sms', 'email', 'status-poll', 'maintenance', 'sms-dead-letter', 'email-dead-letter'].flatMap((queue) => ['failed', 'delayed'].map((status) => `/queues/api/queues?activeQueue=${queue}&status=${status}&page=1`))];
  for (const role of ['viewer', 'operator', 'admin'] as Role[]) {
    const headers = { Cookie: signed[role].cookie, Origin: dashboard.url };
    // Roles see the same of a notification; the one who may do most is shown them all.
    const shown = role === 'admin' ? events : events.slice(0, 1);
    for (const path of routes) for (const eventId of path.includes(':event_id') ? (path.startsWith('/tickets') ? [ticket] : shown) : ['']) await talk.page(`${role} ${path}`, fill(path, eventId), { headers });
    for (const path of board) await talk.page(`${role} ${path.split('?')[0] as string}`, path, { headers });
  }
  for (const path of routes) await talk.page(`nobody ${path}`, fill(path, ticket));
};

const answers = async ({ talk, bearer, events, ticket, receipt, drawn }: Ran): Promise<void> => {
  for (const eventId of [...events, ticket]) for (const part of ['', '/history', '/explanation']) await talk.api(`GET /notifications/:event_id${part}`, `/notifications/${eventId}${part}`, { headers: bearer });
  for (const path of ['/notifications?limit=200', '/openapi.json', '/docs', '/healthz', '/readyz', '/healthz/engine', '/metrics', '/']) await talk.api(`GET ${path.split('?')[0] as string}`, path, { headers: bearer });
  for (const Accept of ['text/html', 'application/json']) {
    await talk.api('GET /receipts', receipt, { headers: { Accept } });
    await talk.api('GET /reports', `/reports/${String(drawn.reportToken)}`, { headers: { Accept } });
    await talk.api('GET /unsubscribe', `/unsubscribe/${String(drawn.unsubscribeToken)}`, { headers: { Accept } });
  }
};

const commands = async ({ talk, events, ticket, deadLetter }: Ran): Promise<void> => {
  for (const eventId of [...events.slice(0, 3), ticket]) for (const name of ['show', 'explain', 'report-access']) await talk.tocsin([name, eventId, '--json']);
  const [first = ''] = events;
  for (const line of [
    ['show', first], ['explain', first], ['show', first, '--message'], ['dead-letters', 'list', '--json'], ['dead-letters', 'show', deadLetter], ['dead-letters', 'show', deadLetter, '--json'], ['suppress', 'list'], ['suppress', 'list', '--json'],
    ['consent', 'list', '--json'], ['key', 'list', '--json'], ['operator', 'list', '--json'], ['audit', 'list', '--json'], ['audit', 'verify'], ['policy', 'list'], ['template', 'list'], ['at-risk', '--json'], ['doctor', '--json'],
    ['ledger', 'verify', '--json'], ['ledger', 'export'], ['ledger', 'retention', '--dry-run'], ['replay-render', '--purpose', 'password-reset', '--to', '1'],
  ]) await talk.tocsin(line);
};

/** Goes everywhere that anybody can look, and notes what stands there; and what had stood there before. */
export const walkAll = async (deployment: Deployment, ran: Ran): Promise<void> => {
  const { world, pager, places } = deployment;
  await pages(deployment, ran);
  await answers(ran);
  await commands(ran);
  say(places, 'metrics', (await world.engine.metrics.scrape()).text);
  for (const { path, headers, body } of pager.heard) say(places, `alert:${path}`, `${JSON.stringify(headers)}\n${body}`);
  for (const [table, heap] of await dumpOf(world.ask)) if (!table.startsWith('leaks.')) say(places, `dump:${table}`, heap);
  for (const { place, said } of await world.ask('SELECT place, string_agg(DISTINCT said, E\'\\n\') AS said FROM leaks.seen GROUP BY place')) say(places, `db:${String(place)}`, String(said));
  if (world.redisUrl) say(places, 'queue:kept', await redisHeap(world.redisUrl));
  for (const file of await artifactFiles(world.artifactDir)) say(places, 'file:artifacts', (await readFile(file)).toString('latin1'));
  for (const file of await artifactFiles(ran.folder)) say(places, 'file:data', await readFile(file, 'utf8'));
};

/** What was really used: every sealed box, opened, and what the providers received. */
export const usedIn = async ({ world }: Deployment): Promise<string> => {
  const boxes = await world.ask(`SELECT event_id, part, key_id, box FROM sealed_payload WHERE box IS NOT NULL UNION ALL SELECT event_id, 'recipient', key_id, box FROM recipient WHERE box IS NOT NULL
    UNION ALL SELECT event_id, 'ticket', key_id, box FROM ticket WHERE box IS NOT NULL UNION ALL SELECT event_id, 'observation', key_id, box FROM observation_raw`);
  return JSON.stringify([boxes.map((row) => openPart(world.engine.ring, String(row['event_id']), String(row['part']), { keyId: String(row['key_id']), box: row['box'] as Buffer })), world.sandbox.messages()]);
};
