import { expect } from '@jest/globals';
import supertest from 'supertest';
import { run } from '../cli/support.ts';
import { roster } from '../intake/rig.ts';
import { notificationPage } from '../../services/dashboard/notification-page.ts';
import { showNotification } from '../../services/dashboard/notification-view.ts';
import { explanation as answered } from '../../services/intake/api-answers.ts';
import { createApp } from '../../services/intake/intake.ts';
import { siteAt } from '../../services/intake/page.ts';
import { insertApiKey } from '../../shared/ledger/api-keys.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import { ANSWERS } from './answers-table.ts';
import type { World } from './world.ts';

const apis = new WeakMap<World, Promise<{ app: ReturnType<typeof createApp>; key: string }>>();

/** The API of a world, made once. */
const apiOf = (world: World): Promise<{ app: ReturnType<typeof createApp>; key: string }> => {
  const made = apis.get(world) ?? (async () => {
    const key = generateApiKey();
    await insertApiKey(world.engine.db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant: 'default', label: 'answers', now: world.now() });
    const config = { host: '127.0.0.1', port: 0, publicUrl: null, demo: false, trustProxy: 0 } as const;
    return { app: createApp({ engine: world.engine, roster, dashboardUrl: 'https://dashboard.example', log: world.engine.log, config: { ...config, ticketsPerMinute: { address: 600, player: 30 } } }, siteAt('http://127.0.0.1')), key: key.text };
  })();
  apis.set(world, made);
  return made;
};

/** The answers that the page shows, as the text that its markup came from. */
const onPage = async (world: World, eventId: string): Promise<string[]> => {
  const shown = await showNotification(world.engine, eventId);
  const list = /<ul class="answers">(.*?)<\/ul>/s.exec(shown ? notificationPage(shown, { looker: { user: 'viewer', role: 'viewer', token: null }, still: true }) : '')?.[1] ?? '';
  return [...list.matchAll(/<li>(.*?)<\/li>/gs)].map(([, html]) => String(html).replace(/<time datetime="([^"]+)"[^>]*>.*?<\/time>/g, '$1').replace(/<\/?em>/g, '*')
    .replaceAll('&#39;', '\'').replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
};
const inCommand = async (world: World, eventId: string, tries = 5): Promise<string[]> => {
  const { code, out, err } = await run(['explain', eventId], { env: { DATABASE_URL: world.databaseUrl }, columns: 100_000 });
  // Its time limit to connect is the product's, and the machine may have others to serve.
  if (err.includes('does not answer') && tries > 0) return inCommand(world, eventId, tries - 1);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return (out.split('\n\n')[0] ?? '').split('\n').slice(1).map((line) => line.replace(/^- /, ''));
};
/** Stressed words stand without their underscores on the page. */
const asOnPage = (text: string): string => text.replace(/\*([a-z_ ]+)\*/g, (_, words: string) => `*${words.replaceAll('_', ' ')}*`);

/**
 * Holds that one record of a notification answers why each channel of its policy was, or was not, used: once each, with policy version, cause and
 * observation; the same by the API, the command line and the page; and, under the scenario's name, with the causes of the reviewed table.
 */
export const expectAnswers = async (world: World, eventId: string, name: string): Promise<void> => {
  const { app, key } = await apiOf(world);
  // A dead letter past its expiry is found by a duty: once for one that may be under way, and once more for what that did not see.
  await world.coordinator.attendDeadLetters();
  await world.coordinator.attendDeadLetters();
  const told = answered.parse((await supertest(app).get(`/notifications/${eventId}/explanation`).set('Authorization', `Bearer ${key}`)).body);
  const state = await world.state(eventId);
  const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
  expect(told.channels.map(({ step, channel }) => [step, channel])).toEqual(policy.steps.map(({ channel }, index) => [index + 1, channel]));
  for (const { step, channel, used, text } of told.channels) {
    const start = `${channel === 'sms' ? 'SMS' : 'Email'}, step ${step} of policy ${policy.purpose}/${policy.version}, was ${used ? 'used' : 'not used'}`;
    expect({ text, says: text.startsWith(`${start} because `) || (!used && text.startsWith(`${start} so far because `)) }).toEqual({ text, says: true });
    expect(text).toMatch(/ because .{10,}; .*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z.*\.$/);
    expect(text).not.toMatch(/undefined|null|\[object|1970-/);
    expect(text.match(/ because /g)).toHaveLength(1);
  }
  const texts = told.channels.map(({ text }) => text);
  expect(await inCommand(world, eventId)).toEqual(texts);
  expect(await onPage(world, eventId)).toEqual(texts.map(asOnPage));
  expect({ [name]: told.channels.map(({ channel, used, cause }) => `${channel} ${used ? 'used' : 'not'}: ${cause}`).join('; ') }).toEqual({ [name]: ANSWERS[name] });
};
