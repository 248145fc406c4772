import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lintContent } from '../../shared/content/lint.ts';
import { previewTemplate } from '../../shared/content/preview.ts';
import { renderAttempt } from '../../shared/content/render-attempt.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { withHash } from '../../shared/content/template.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { MAILING_DIR, mailingVersions } from '../support/mailing.ts';
import { EVENT_ID, inputFor } from './render-support.ts';

const [offers] = mailingVersions().templates as [TemplateVersion];
const LINK = 'https://mail.example.com/unsubscribe/abcdef';
const rendered = (template: TemplateVersion, variables: Record<string, string> = { unsubscribe_url: LINK }) =>
  renderAttempt(inputFor('game-support-urgent-email', { offer: 'lamp', ...variables }, { template, attemptKey: `${EVENT_ID}.email.1` }));
const mimeOf = (template: TemplateVersion): string => {
  const result = rendered(template);
  if (!result.ok || result.message.channel !== 'email') throw new Error('not rendered');
  return result.message.mime;
};

describe('the link to unsubscribe in a message', () => {
  it('stands in text, HTML and headers of commercial mail, the same bytes at every render', () => {
    const mime = mimeOf(offers);
    expect(mime).toContain(`\r\nList-Unsubscribe: <${LINK}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`);
    expect(mime.split(LINK)).toHaveLength(4);
    expect(mimeOf(offers)).toBe(mime);
  });

  it('is in no transactional mail, and in none of a template that names a link of its callers', () => {
    const transactional = withHash({ ...offers, classification: 'transactional', locales: { en: { subject: 's', text: '{{ offer }}', html: '<p></p>' } } });
    expect(mimeOf(transactional)).not.toMatch(/unsubscribe/i);
    const callers = withHash({ ...offers, variables: { ...offers.variables, stop_url: { type: 'url', max: 100 } }, terms: { ...offers.terms, optOut: 'stop_url' }, locales: { en: { subject: 's', text: 'x', html: '<p></p>' } } });
    expect(rendered(callers, { unsubscribe_url: LINK, stop_url: 'https://example.com/stop' })).toMatchObject({ ok: true, message: { mime: expect.not.stringMatching(/List-Unsubscribe/) } });
  });

  it.each([['is missing', {}], ['is not https', { unsubscribe_url: 'http://mail.example.com/unsubscribe/abcdef' }]])('makes no message where it %s', (_name, variables) => {
    expect(rendered(offers, variables as Record<string, string>)).toMatchObject({ ok: false, problem: expect.stringMatching(/unsubscribe_url/) });
  });

  it('has a sample in a preview', () => {
    expect(previewTemplate(offers, { locale: 'en', variables: {} })).toMatchObject({ ok: true, texts: { text: expect.stringContaining('https://example.com/unsubscribe/sample') }, sampled: ['offer'] });
  });
});

describe('lint and the link to unsubscribe', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tocsin-mailing-'));
    cpSync(MAILING_DIR, dir, { recursive: true });
  });
  afterEach(() => { rmSync(dir, { recursive: true, force: true }); });
  const FOLDER = 'templates/shop-offers-email/1';
  const edit = (file: string, from: string, to: string): void => {
    const path = join(dir, file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    writeFileSync(path, text.replace(from, to));
  };
  const lint = (): string[] => lintContent({ policyDir: join(dir, 'policies'), templateDir: join(dir, 'templates'), carriers: CARRIERS }).problems.map(({ code, file }) => `${code} ${file}`);
  const classify = (as: string): void => {
    edit(`${FOLDER}/template.yaml`, 'commercial', as);
    edit('policies/shop-offers/1.yaml', 'classification: commercial', `classification: ${as}`);
  };

  it('take it for a way to opt out, and for one click of subscription mail', () => {
    expect(lint()).toEqual([]);
    classify('subscription');
    expect(lint()).toEqual([]);
    edit(`${FOLDER}/template.yaml`, 'opt_out: unsubscribe_url', 'opt_out: unsubscribe_url\none_click: unsubscribe_url');
    expect(lint()).toEqual([]);
  });

  it('object where the text does not show it, and where subscription mail opts out elsewhere without one click', () => {
    edit(`${FOLDER}/text.en.liquid`, '{{ unsubscribe_url }}', 'never');
    expect(lint()).toEqual([`no_opt_out ${FOLDER}/text.en.liquid`]);
    edit(`${FOLDER}/text.en.liquid`, 'never', '{{ unsubscribe_url }} {{ stop_url }}');
    edit(`${FOLDER}/html.en.liquid`, '{{ offer }}', '{{ stop_url }}');
    edit(`${FOLDER}/template.yaml`, 'opt_out: unsubscribe_url', 'opt_out: stop_url');
    edit(`${FOLDER}/template.yaml`, 'variables:\n', 'variables:\n  stop_url: { type: url, max: 100 }\n');
    edit('policies/shop-offers/1.yaml', '[offer]', '[offer, stop_url]');
    expect(lint()).toEqual([]);
    classify('subscription');
    expect(lint()).toEqual([`no_one_click ${FOLDER}/template.yaml`]);
    edit(`${FOLDER}/template.yaml`, 'opt_out: stop_url', 'opt_out: stop_url\none_click: unsubscribe_url');
    expect(lint()).toEqual([]);
  });

  it('do not know it in transactional mail', () => {
    classify('transactional');
    expect(lint()).toEqual([`unknown_variable ${FOLDER}/html.en.liquid`, `unknown_variable ${FOLDER}/text.en.liquid`]);
  });

});
