import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { renderAttempt } from '../../shared/content/render-attempt.ts';
import type { RenderInput } from '../../shared/content/render-attempt.ts';
import { withHash } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { canonicalText } from '../../shared/security/canonical.ts';
import { EVENT_ID, inputFor, templateNamed } from './render-support.ts';

const rendered = (input: RenderInput) => {
  const result = renderAttempt(input);
  if (!result.ok) throw new Error(result.problem);
  return result;
};
const smsOf = (input: RenderInput): string => {
  const { message } = rendered(input);
  return message.channel === 'sms' ? message.text : '';
};
const mimeOf = (input: RenderInput): string => {
  const { message } = rendered(input);
  return message.channel === 'email' ? message.mime : '';
};

describe('the SMS of an urgent ticket', () => {
  it('is one segment with category, queue, region, reference and link, for every category and locale', () => {
    for (const locale of ['en', 'de']) {
      for (const [category, queue] of [['payment_lockout', 'payments-urgent'], ['account_takeover', 'account-security'], ['live_service_incident', 'live-operations']] as const) {
        const { message, segments } = rendered(inputFor('game-support-urgent-sms', { category, queue }, { locale }));
        const text = message.channel === 'sms' ? message.text : '';
        for (const part of [category, queue, 'US', '9G5FAVS1', `/tickets/${EVENT_ID}`]) expect(text).toContain(part);
        expect(segments).toBe(1);
      }
    }
  });

  it('never carries the player\'s text, not even where a template asks for it', () => {
    const sms = templateNamed('game-support-urgent-sms');
    const curious = withHash({ ...sms, locales: { en: { sms: '{{ category }} {{ message }}' } } });
    expect(smsOf(inputFor('game-support-urgent-sms', { message: 'card 4111 1111 1111 1111' }))).not.toContain('4111');
    expect(renderAttempt(inputFor('game-support-urgent-sms', {}, { template: curious }))).toEqual({ ok: false, reason: 'render_error', problem: 'undefined variable: message', faults: [] });
  });

  it('has bare addresses in its envelope', () => {
    expect(rendered(inputFor('game-support-urgent-sms', {}, { to: '+1 (202) 555-0103' })).message).toMatchObject({ to: '+12025550103', from: '+12025550100' });
  });
});

describe.each(['game-support-urgent-email', 'game-support-routine-email'])('the email %s', (name) => {
  const evil = '{{player.token}} ${7*7} {% include \'/etc/passwd\' %} <script>fetch(\'//evil.example/\')</script><img src=x onerror=alert(1)> "&amp;\r\n.\n😭';

  it('carries the message as data: byte for byte as text, escaped as HTML, not at all in the subject', async () => {
    const parsed = await simpleParser(mimeOf(inputFor(name, { message: evil })), { skipHtmlToText: true });
    expect(parsed.text).toContain(evil.replace(/\r\n/g, '\n'));
    expect(parsed.html).not.toMatch(/<script|<img/);
    expect(parsed.html).toContain('{{player.token}} ${7*7} {% include &#39;/etc/passwd&#39; %} &lt;script&gt;');
    expect(parsed.subject).toBe(`[${name.includes('urgent') ? 'Urgent' : 'Support'}] Tickets for payments-urgent`);
  });

  it('has bare addresses in its envelope and the display name in its header', () => {
    const { message } = rendered(inputFor(name));
    expect(message).toMatchObject({ channel: 'email', to: 'oncall-03@example.com', from: 'notices@example.com' });
    expect(message.channel === 'email' && message.mime).toContain('From: "Tocsin"\r\n <notices@example.com>');
  });

  it('links to nothing but the ticket, and links cannot carry a script', async () => {
    const parsed = await simpleParser(mimeOf(inputFor(name, { message: 'https://evil.example/' })));
    const html = parsed.html || '';
    expect([...html.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1])).toEqual([`http://127.0.0.1:3001/tickets/${EVENT_ID}`]);
    for (const ticket_url of ['javascript:alert(1)', 'https://x/"onclick="', 'ftp://example.com/', 'https://', ' https://example.com']) {
      expect(renderAttempt(inputFor(name, { ticket_url }))).toMatchObject({ ok: false, problem: 'variable ticket_url is not an http(s) address' });
    }
  });
});

describe('a locale', () => {
  it('is met exactly, by its language, or by the fallback', () => {
    const localeFor = (locale: string) => rendered(inputFor('game-support-urgent-sms', {}, { locale })).locale;
    expect(['de', 'de-AT', 'DE-de', 'en-GB', 'ja-JP', 'x'].map(localeFor)).toEqual(['de', 'de', 'de', 'en', 'en', 'en']);
    expect(smsOf(inputFor('game-support-urgent-sms', {}, { locale: 'de-AT' }))).toContain('DRINGEND');
  });
});

describe('a render', () => {
  it('is the same byte for byte in another process, another time zone and at another time', () => {
    const inputs = ['game-support-urgent-email', 'game-support-urgent-sms'].map((name) => inputFor(name, { message: 'Straße 😭\r\nتجربة' }, { locale: 'de' }));
    const module = pathToFileURL(join(import.meta.dirname, '../../shared/content/render-attempt.ts')).href;
    const script = `import { renderAttempt } from ${JSON.stringify(module)}; import { readFileSync } from 'node:fs';
      process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map((input) => renderAttempt(input))));`;
    const out = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      input: JSON.stringify(inputs), env: { PATH: process.env['PATH'], TZ: 'Pacific/Auckland', LANG: 'de_DE.UTF-8', NODE_OPTIONS: '' }, encoding: 'utf8',
    });
    expect(JSON.parse(out)).toEqual(inputs.map((input) => renderAttempt(input)));
  });

  it('does not depend on the order in which a template or its variables were stored', () => {
    const input = inputFor('game-support-urgent-email');
    const shuffled = JSON.parse(canonicalText(input.template)) as TemplateVersion;
    const variables = Object.fromEntries(Object.entries(input.variables).reverse());
    expect(renderAttempt({ ...input, template: shuffled, variables })).toEqual(renderAttempt(input));
  });

  it('has the sha-256 of its canonical message as hash, another one for another attempt or instant', () => {
    const input = inputFor('game-support-urgent-email');
    const { message, hash } = rendered(input);
    expect(hash).toBe(createHash('sha256').update(canonicalText(message)).digest('hex'));
    expect(rendered({ ...input, attemptKey: `${EVENT_ID}.email.2` }).hash).not.toBe(hash);
    expect(rendered({ ...input, plannedAt: input.plannedAt + 1_000 }).hash).not.toBe(hash);
  });

  const failing: [string, RenderInput, string][] = [
    ['a missing variable', { ...inputFor('game-support-urgent-sms'), variables: { region: 'US', ticket_url: 'https://example.com/' } }, 'variable category is missing; variable queue is missing'],
    ['a variable over its limit', inputFor('game-support-urgent-email', { message: 'secret'.repeat(4_000) }), 'variable message is longer than 20000: it has 24,000 characters'],
    ['half a surrogate pair', inputFor('game-support-urgent-email', { message: 'x \ud83d y' }), 'variable message is not valid text'],
    ['a recipient that is no address', inputFor('game-support-urgent-email', {}, { to: 'a@example.com\r\nBcc: b@example.com' }), 'the recipient is not a valid email address'],
    ['a recipient that is no number', inputFor('game-support-urgent-sms', {}, { to: 'not a number' }), 'the recipient is not a valid phone number'],
    ['two senders', inputFor('game-support-urgent-email', {}, { sender: { sms: '+1', email: 'a@example.com, b@example.com' } }), 'the sender (MAIL_FROM) is not one email address'],
    ['another channel', inputFor('game-support-urgent-email', {}, { channel: 'sms' }), 'template game-support-urgent-email is for email, not for sms'],
    ['a template that was changed in its row', inputFor('game-support-urgent-sms', {}, { template: { ...templateNamed('game-support-urgent-sms'), locales: { en: { sms: 'changed' } }, hash: '0'.repeat(64) } }), 'template game-support-urgent-sms 1 does not match its hash'],
  ];
  it.each(failing)('is refused as a value for %s, and the value is not quoted', (_name, input, problem) => {
    const refused = renderAttempt(input);
    expect(refused).toEqual({ ok: false, reason: 'render_error', problem, faults: expect.any(Array) });
    expect(JSON.stringify(refused)).not.toContain('secret');
  });

  it.each([
    { channel: 'sms' as const, locale: { sms: '{{ note }} {{ name }}' }, what: 'the text', most: 1_600 },
    { channel: 'email' as const, locale: { subject: '{{ note }} {{ name }}', text: 'x', html: '<p>x</p>' }, what: 'the subject', most: 200 },
  ])('names the variable that makes $what of $channel too long, and how long it may be', ({ channel, locale, what, most }) => {
    const template = withHash({
      name: 'n', version: 1, channel, owner: 'ours', classification: 'transactional', variables: { name: { type: 'string', max: 2_000 }, note: { type: 'string', max: 2_000 } }, locales: { en: locale }, fallbackLocale: 'en',
    });
    const faultsOf = (note: number, name: number) => {
      const result = renderAttempt(inputFor('game-support-urgent-email', { note: 'n'.repeat(note), name: 'm'.repeat(name) }, { template, channel, attemptKey: `${EVENT_ID}.${channel}.1`, to: channel === 'sms' ? '+12025550101' : 'a@example.com' }));
      return result.ok ? [] : result.faults;
    };
    expect(faultsOf(most - 11, 10)).toEqual([]);
    expect(faultsOf(most - 10, 10)).toEqual([{
      variable: 'note', cure: `shorten it to at most ${(most - 11).toLocaleString('en')} characters`,
      problem: `makes ${what} ${(most + 1).toLocaleString('en')} characters long, more than the ${most.toLocaleString('en')} that it may have: ${(most - 10).toLocaleString('en')} of them are its own`,
    }]);
    expect(faultsOf(10, most)).toEqual([expect.objectContaining({ variable: 'name' })]);
  });

  it.each([
    '{% include "x" %}', '{% render "x" %}', '{% layout "x" %}', '{% for c in category %}{{ c }}{% endfor %}', '{{ "now" | date: "%s" }}', '{{ category | raw }}',
    '{{ category.constructor }}', '{{ __proto__ }}', '{% if category %}', '{{ category', '{{ nobody }}',
  ])('has no room for %j in a template', (sms) => {
    const template = withHash({ ...templateNamed('game-support-urgent-sms'), locales: { en: { sms } } });
    expect(renderAttempt(inputFor('game-support-urgent-sms', {}, { template }))).toMatchObject({ ok: false, reason: 'render_error' });
  });

  it('throws on something that is no attempt key', () => {
    expect(() => renderAttempt(inputFor('game-support-urgent-sms', {}, { attemptKey: 'x\r\nBcc: y' }))).toThrow('not an attempt key');
  });
});
