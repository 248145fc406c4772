import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lintContent } from '../../shared/content/lint.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { renderAttempt } from '../../shared/content/render-attempt.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { withHash } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { CARRIERS, carriersFor } from '../../shared/transports/carriers.ts';
import { mailFieldsOf } from '../../shared/transports/resend/mail-fields.ts';
import { EVENT_ID, inputFor, POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

const subscription: TemplateVersion = withHash({
  name: 'news', version: 1, channel: 'email', owner: 'ours', classification: 'subscription', fallbackLocale: 'en',
  variables: { stop_url: { type: 'url', max: 900 } },
  locales: { en: { subject: 'News', text: '{{ postal_address }} {{ stop_url }}', html: '<p>{{ postal_address }} <a href="{{ stop_url }}">stop</a></p>' } },
  terms: { postalAddress: 'Example & Sons, 1 Sample Street', optOut: 'stop_url', oneClick: 'stop_url' },
});
const rendered = (stopUrl: string) => renderAttempt(inputFor('game-support-urgent-email', { stop_url: stopUrl }, { template: subscription, attemptKey: `${EVENT_ID}.email.1` }));

describe('subscription mail', () => {
  it('has the headers to unsubscribe with one click, and shows its postal address, also through an HTTP provider', () => {
    const result = rendered('https://example.com/stop/abc');
    if (!result.ok || result.message.channel !== 'email') throw new Error('not rendered');
    expect(result.message.mime).toMatch(/\r\nList-Unsubscribe: <https:\/\/example\.com\/stop\/abc>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n/);
    const fields = mailFieldsOf(result.message.mime);
    expect(fields?.headers).toMatchObject({ 'List-Unsubscribe': '<https://example.com/stop/abc>', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' });
    expect(fields?.text).toBe('Example & Sons, 1 Sample Street https://example.com/stop/abc');
    expect(fields?.html).toContain('Example &amp; Sons, 1 Sample Street');
  });

  it.each(['http://example.com/stop', 'https://example.com/ü'])('is not made with %s, which the header may not hold', (url) => {
    expect(rendered(url)).toMatchObject({ ok: false, problem: expect.stringContaining('stop_url is not an https address') });
  });

  it('has its terms under its hash: another postal address is another version', () => {
    expect(withHash({ ...subscription, terms: { ...subscription.terms, postalAddress: 'elsewhere' } }).hash).not.toBe(subscription.hash);
  });
});

const KEPT = `HX${'a1'.repeat(16)}`;

describe('a template that a provider keeps', () => {
  const kept = withHash({
    name: 'code', version: 1, channel: 'sms', owner: { provider: 'twilio', id: KEPT, variables: { 1: 'code', 2: 'ref' } }, classification: 'transactional', fallbackLocale: 'en',
    variables: { code: { type: 'string', max: 8 } }, locales: { en: { sms: 'Your code is {{ code }} ({{ ref }})' } },
  });

  it('is asked for by its id with exactly its variables; our copy of the text stands beside it, under one hash', () => {
    const render = (template: TemplateVersion) => renderAttempt(inputFor('game-support-urgent-sms', { code: 'A1' }, { template }));
    const result = render(kept);
    expect(result).toMatchObject({ ok: true, message: { text: expect.stringMatching(/^Your code is A1 \(\w{8}\)$/), providerTemplate: { id: KEPT, variables: { 1: 'A1', 2: expect.stringMatching(/^\w{8}$/) } } } });
    const ours = render(withHash({ ...kept, owner: 'ours' }));
    expect(result.ok && ours.ok && result.hash !== ours.hash).toBe(true);
  });
});

describe('the terms of policies and templates', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tocsin-terms-'));
    cpSync(POLICY_DIR, join(dir, 'policies'), { recursive: true });
    cpSync(TEMPLATE_DIR, join(dir, 'templates'), { recursive: true });
    // Version 2 states some of what is tried here already.
    for (const purpose of ['game-support-urgent', 'game-support-routine']) rmSync(join(dir, `policies/${purpose}/2.yaml`));
  });
  afterEach(() => { rmSync(dir, { recursive: true, force: true }); });

  const folders = () => ({ policyDir: join(dir, 'policies'), templateDir: join(dir, 'templates') });
  const lint = (carriers = CARRIERS) => lintContent({ ...folders(), carriers }).problems.map(({ level, code, file, line }) => `${level ?? 'error'} ${code} ${file}:${line}`);
  const append = (path: string, text: string): void => writeFileSync(join(dir, path), `${readFileSync(join(dir, path), 'utf8')}${text}`);
  const edit = (path: string, from: string, to: string): void => {
    const text = readFileSync(join(dir, path), 'utf8');
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text.replace(from, to));
  };
  const SMS = 'templates/game-support-urgent-sms/1';
  const EMAIL = 'templates/game-support-urgent-email/1';
  const URGENT = 'policies/game-support-urgent/1.yaml';

  it('are kept with the version, and nothing is where nothing was said', () => {
    append(URGENT, 'supplies: [category]\nsecrets: { message: [email] }\n');
    edit(URGENT, '  US:\n', '  US:\n    quiet_hours: { sms: { from: "21:00", to: "08:00", time_zone: recipient, if_unknown: [America/New_York], except: [urgent] }, email: { from: "21:00", to: "08:00", time_zone: Europe/Berlin } }\n');
    edit(URGENT, '    escalate_when', '    throttle: { most: 3, within: 10m }\n    escalate_when');
    append(`${SMS}/template.yaml`, 'segments: 3\nlink_hosts: [www.example.com]\nstates: { action: open the ticket, expiry: 15m }\n');
    const policies = loadPolicies(folders().policyDir);
    const [plain, urgent] = ['game-support-routine', 'game-support-urgent'].map((purpose) => policies.find((policy) => policy.purpose === purpose));
    expect(urgent).toMatchObject({ supplies: ['category'], secretChannels: { message: ['email'] }, regions: { US: { quietHours: { sms: { from: '21:00', to: '08:00', timeZone: 'recipient', ifUnknown: ['America/New_York'], except: ['urgent'] }, email: { from: '21:00', to: '08:00', timeZone: 'Europe/Berlin' } } } } });
    expect(urgent?.steps.map(({ throttle }) => throttle)).toEqual([{ most: 3, withinMs: 600_000 }, undefined]);
    expect(Object.keys(plain ?? {})).not.toEqual(expect.arrayContaining(['supplies']));
    const templates = loadTemplates(folders().templateDir);
    expect(templates.find(({ name }) => name === 'game-support-urgent-sms')?.terms).toEqual({ segments: { en: 3, de: 3 }, linkHosts: ['www.example.com'], states: { action: 'open the ticket', expiryMs: 900_000 } });
    expect(templates.find(({ name }) => name === 'game-support-urgent-email')).not.toHaveProperty('terms');
  });

  it('that fit are not objected to', () => {
    append(URGENT, 'supplies: [category, queue, region, locale, player_ref, message, received_at, ticket_url]\nsecrets: { message: [email], player_ref: [email] }\n');
    append(`${SMS}/template.yaml`, 'segments: 3\nlink_hosts: [www.example.com]\nstates: { action: open the ticket, host: ticket_url }\n');
    append(`${SMS}/sms.en.liquid`, 'https://www.example.com/help');
    append(`${EMAIL}/template.yaml`, 'states: { action: open the ticket, host: ticket_url }\n');
    expect(lint()).toEqual([]);
  });

  it('may state a host that the policy leaves out of a channel, and no other that is not shown', () => {
    append(`${SMS}/template.yaml`, 'states: { action: open the ticket, host: ticket_url }\n');
    append(`${EMAIL}/template.yaml`, 'states: { action: open the ticket, host: ticket_url }\n');
    edit(`${SMS}/template.yaml`, '  ticket_url: { type: url, max: 200 }\n', '');
    for (const file of ['sms.en', 'sms.de']) edit(`${SMS}/${file}.liquid`, ' {{ ticket_url }}', '');
    expect(lint()).toEqual([expect.stringMatching(/^error states_differ templates\/game-support-urgent-sms\/1\/template.yaml:/)]);
    append(URGENT, 'secrets: { ticket_url: [email] }\n');
    expect(lint()).toEqual([]);
  });

  it('are warned of where they are doubtful: quiet hours with no zone to go by, another span of time or link', () => {
    edit(URGENT, '  US:\n', '  US:\n    quiet_hours: { sms: { from: "21:00", to: "08:00", time_zone: recipient } }\n');
    append(`${SMS}/sms.en.liquid`, ' in 10 minutes');
    append(`${EMAIL}/text.en.liquid`, '\nwithin 2 hours\n');
    edit(`${EMAIL}/template.yaml`, 'ticket_url: {', 'other_url: {');
    for (const file of ['text.en', 'text.de', 'html.en', 'html.de']) edit(`${EMAIL}/${file}.liquid`, 'ticket_url', 'other_url');
    expect(lint()).toEqual([
      'warning no_zone_to_go_by policies/game-support-urgent/1.yaml:9', 'warning states_differ templates/game-support-urgent-email/1/template.yaml:5',
      'warning states_differ templates/game-support-urgent-email/1/text.en.liquid:1',
    ]);
  });

  it('let an SMS carry a secret only where the template lists sms for it', () => {
    for (const file of [SMS, EMAIL]) edit(`${file}/template.yaml`, 'queue: { type: string, max: 32 }', 'queue: { type: string, max: 32, secret: true }');
    expect(lint()).toEqual(['error secret_channel templates/game-support-urgent-sms/1/template.yaml:7']);
    edit(`${SMS}/template.yaml`, 'secret: true }', 'secret: true, channels: [sms] }');
    expect(lint()).toEqual([]);
  });

  it('of quiet hours leave some of the day open in all zones that may be assumed together', () => {
    edit(URGENT, '  US:\n', '  US:\n    quiet_hours: { sms: { from: "20:00", to: "08:00", time_zone: recipient, if_unknown: [America/New_York, America/Los_Angeles, Asia/Shanghai] } }\n');
    expect(lint()).toEqual(['error quiet_all_day policies/game-support-urgent/1.yaml:9']);
    edit(URGENT, ', Asia/Shanghai', '');
    expect(lint()).toEqual([]);
  });

  it('of a template that a provider keeps must be exact, and its provider must be the one that carries the channel', () => {
    rmSync(join(dir, SMS, 'sms.de.liquid'));
    edit(`${SMS}/template.yaml`, 'owner: ours', `owner: { provider: twilio, id: ${KEPT}, variables: { "1": category, "2": region, "3": queue, "4": ref, "5": ticket_url } }`);
    edit(`${SMS}/template.yaml`, 'locales: [en, de]', 'locales: [en]');
    expect(lint()).toEqual([]);
    expect(lint(carriersFor({ sms: 'sinch', email: 'smtp' }))).toEqual(['error provider_template policies/game-support-urgent/1.yaml:26']);
    edit(`${SMS}/template.yaml`, '"4": ref, ', '"4": locale, ');
    edit(`${SMS}/template.yaml`, '  queue: {', '  locale: { type: string, max: 9 }\n  queue: {');
    expect(lint()).toEqual(['error provider_variables templates/game-support-urgent-sms/1/sms.en.liquid:1', 'error provider_variables templates/game-support-urgent-sms/1/template.yaml:2']);
    edit(`${SMS}/template.yaml`, KEPT, 'HX1');
    expect(lint()).toEqual(['error invalid_value templates/game-support-urgent-sms/1/template.yaml:2']);
  });

  it('depend on the transports: a provider that recognises a repetition may replay', () => {
    edit(URGENT, '    decide_within: 10m\n    on_unknown: hold', '    decide_within: 10m\n    on_unknown: replay');
    expect(lint()).toEqual(['error replay_without_deduplication policies/game-support-urgent/1.yaml:50']);
    expect(lint(carriersFor({ sms: 'twilio', email: 'resend' }))).toEqual([]);
  });

  it('of senders count once a registration is there, and only where one is needed', () => {
    writeFileSync(join(dir, 'policies/senders.yaml'), 'needs: { US: [sms] }\nregistered: [{ region: EU, channel: sms, sender: "1", reference: r }]\n');
    expect(lint().filter((one) => one.includes('game-support'))).toEqual(['error sender_unregistered policies/game-support-urgent/1.yaml:9']);
    rmSync(join(dir, 'policies/senders.yaml'));
    expect(lint()).toEqual([]);
  });
});
