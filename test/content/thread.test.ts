import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { lintContent } from '../../shared/content/lint.ts';
import { textOf } from '../../shared/content/yaml-file.ts';
import { renderAttempt } from '../../shared/content/render-attempt.ts';
import type { RenderInput } from '../../shared/content/render-attempt.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { mailFieldsOf } from '../../shared/transports/resend/mail-fields.ts';
import { EVENT_ID, inputFor, POLICY_DIR, TEMPLATE_DIR, templateNamed } from './render-support.ts';

const HOUR = 3_600_000;
const AT = Date.UTC(2026, 10, 29, 10);
const URGENT = 'game-support-urgent-email';

const mimeOf = (input: RenderInput): string => {
  const rendered = renderAttempt(input);
  if (!rendered.ok || rendered.message.channel !== 'email') throw new Error('no email');
  return rendered.message.mime;
};
/** A mail about a ticket, requested so long after the full hour. */
const mail = ({ afterMs = 0, variables = {}, rest = {}, name = URGENT }: { afterMs?: number; variables?: Record<string, string>; rest?: Partial<RenderInput>; name?: string } = {}): string =>
  mimeOf(inputFor(name, variables, { requestedAt: AT + afterMs, plannedAt: AT + afterMs, ...rest }));
const header = (mime: string, name: string): string | undefined => new RegExp(`^${name}: (.*)\\r$`, 'm').exec(mime.replace(/\r\n[ \t]/g, ' '))?.[1];
const rootOf = (mime: string): string | undefined => header(mime, 'References');

describe('mails of a flood', () => {
  it('answer one message that none of them is, and have one subject: by that mail programs make them one conversation', async () => {
    const [one, other] = [mail(), mail({ afterMs: HOUR - 1, variables: { category: 'bug', region: 'EU', message: 'another', player_ref: 'p-2' }, rest: { attemptKey: 'evt_01ARZ3NDEKTSV4RRFFQ69G5FB0.email.1' } })];
    expect(rootOf(one)).toMatch(/^<thread\.[0-9a-f]{32}@example\.com>$/);
    expect([rootOf(other), header(other, 'In-Reply-To'), header(other, 'Subject')]).toEqual([rootOf(one), rootOf(one), header(one, 'Subject')]);
    expect(header(one, 'Message-ID')).toBe(`<${EVENT_ID}.email.1@example.com>`);
    expect(header(other, 'Message-ID')).not.toBe(header(one, 'Message-ID'));
    expect(await simpleParser(one)).toMatchObject({ inReplyTo: rootOf(one), references: rootOf(one) });
  });

  it('are another conversation in the next hour, for another queue, and of another purpose by their subject', () => {
    const roots = [mail(), mail({ afterMs: HOUR }), mail({ afterMs: -1 }), mail({ variables: { queue: 'live-operations' } })].map(rootOf);
    expect(new Set(roots).size).toBe(4);
    expect(header(mail({ name: 'game-support-routine-email' }), 'Subject')).not.toBe(header(mail(), 'Subject'));
  });

  it('go by when the notification was asked for, whatever the attempt: a retry or a later step stays in its conversation', () => {
    const later = mail({ rest: { plannedAt: AT + 2 * HOUR, attemptKey: `${EVENT_ID}.email.2` } });
    expect(rootOf(later)).toBe(rootOf(mail()));
  });

  it('say nothing of a person in the name of their conversation: it is the same for whoever gets it', () => {
    expect(rootOf(mail({ rest: { to: 'somebody-else@example.com', locale: 'de' }, variables: { player_ref: 'p-9', message: 'other words' } }))).toBe(rootOf(mail()));
  });

  it('carry it over an API as over SMTP, and in the hash of the plan', () => {
    const mime = mail();
    expect(mailFieldsOf(mime)?.headers).toMatchObject({ 'In-Reply-To': rootOf(mime), References: rootOf(mime) });
    const hashes = [0, HOUR].map((afterMs) => renderAttempt(inputFor(URGENT, {}, { requestedAt: AT + afterMs }))).map((one) => one.ok && one.hash);
    expect(hashes[0]).not.toBe(hashes[1]);
  });

  it('are nothing of the kind where the template does not say so, as it was before', () => {
    for (const name of ['password-reset-email', 'seller-order-email', 'account-report-email']) {
      const variables = Object.fromEntries(Object.entries(templateNamed(name).variables).map(([key, { type }]) => [key, type === 'url' ? 'https://accounts.example.com/x' : 'word']));
      expect(mail({ name, variables })).not.toMatch(/^(In-Reply-To|References):/m);
    }
  });

  it('are not made where nothing says when they were asked for', () => {
    const input = inputFor(URGENT);
    delete input.requestedAt;
    expect(renderAttempt(input)).toMatchObject({ ok: false, problem: expect.stringContaining('nothing says when the notification was asked for') });
  });
});

describe('lint, of conversations and of what a purpose supplies', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tocsin-thread-'));
    cpSync(POLICY_DIR, join(dir, 'policies'), { recursive: true });
    cpSync(TEMPLATE_DIR, join(dir, 'templates'), { recursive: true });
  });
  afterEach(() => { rmSync(dir, { recursive: true, force: true }); });
  const edit = (path: string, from: string, to: string): void => {
    const text = readFileSync(join(dir, path), 'utf8');
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
    writeFileSync(join(dir, path), text.replace(from, to));
  };
  const lint = () => lintContent({ policyDir: join(dir, 'policies'), templateDir: join(dir, 'templates'), carriers: CARRIERS }).problems.map((one) => `${one.code} ${textOf(one)}`);
  const FILE = `templates/${URGENT}/2/template.yaml`;

  it('wants a subject that shows nothing by which conversations do not go', () => {
    edit(`templates/${URGENT}/2/subject.en.liquid`, '{{ queue }}', '{{ queue }} ({{ ref }})');
    expect(lint()).toEqual([`thread templates/${URGENT}/2/subject.en.liquid:1:1: shows ref, by which the conversations of template.yaml do not go, so mail programs would keep every mail apart; move it to the text, or add it under thread.by`]);
  });

  it.each([
    ['an undeclared variable', 'by: [queue]', 'by: [queue, team]', /^unknown_variable \S+:16:\d+ thread\.by\[1\]: names team, which is not among the variables; declare it or correct its name$/],
    ['a secret', 'by: [queue]', 'by: [queue, player_ref]', /^thread \S+:16:\d+ thread\.by\[1\]: names player_ref, which is secret and may not stand in a header, not even hashed; go by another variable$/],
    ['a span without its unit', '1h', '60', /^unit_missing \S+:16:\d+ thread\.within: .*; write/],
  ])('finds %s in it', (_what, from, to, said) => {
    edit(FILE, from, to);
    expect(lint()).toEqual([expect.stringMatching(said)]);
  });

  it('finds it in a template for SMS', () => {
    edit('templates/game-support-urgent-sms/1/template.yaml', 'fallback_locale: en\n', 'fallback_locale: en\nthread: { by: [queue], within: 1h }\n');
    expect(lint()).toEqual([expect.stringMatching(/^thread templates\/game-support-urgent-sms\/1\/template\.yaml:12:\d+ thread: is for email, and this template is for sms; drop it$/)]);
  });

  it('finds a variable that a shipped purpose never supplies: by the word of its policy, or of what stands beside it', () => {
    edit(FILE, '  ticket_url:', '  nickname: { type: string, max: 20 }\n  ticket_url:');
    expect(lint()).toEqual([`variable_not_supplied policies/game-support-urgent/2.yaml:25:11 supplies: lacks nickname, which ${URGENT} 2 needs; add it, and give it with every notification, or drop it from the template`]);
  });

  it.each(['password-reset', 'seller-order', 'account-report', 'report-code'])('finds one that %s never supplies where the template declares it', (purpose) => {
    edit(`templates/${purpose}-email/1/template.yaml`, 'variables:\n', 'variables:\n  nickname: { type: string, max: 20 }\n');
    expect(lint()).toContainEqual(expect.stringMatching(new RegExp(`^variable_not_supplied templates/${purpose}-email/1/template\\.yaml:\\d+:\\d+ variables\\.nickname: is not among what policies/supplies\\.yaml says that ${purpose} is given; add it there, and give it with every notification, or drop it from the template$`)));
  });

  it('knows of every shipped purpose, in its newest version, what it supplies', () => {
    const { policies } = lintContent({ policyDir: POLICY_DIR, templateDir: TEMPLATE_DIR, carriers: CARRIERS });
    const beside = readFileSync(join(POLICY_DIR, 'supplies.yaml'), 'utf8');
    const newest = new Map(policies.map(({ policy }) => [policy.purpose, policy]));
    expect([...newest.values()].filter(({ purpose, supplies }) => supplies === undefined && !beside.includes(`\n${purpose}: [`)).map(({ purpose }) => purpose)).toEqual([]);
  });

  it('finds a purpose beside the policies that is none, for it would check nothing', () => {
    edit('policies/supplies.yaml', 'seller-order:', 'seler-order:');
    expect(lint()).toEqual([expect.stringMatching(/^unknown_purpose policies\/supplies\.yaml:\d+:\d+ seler-order: is the purpose of no policy here; correct its name, or remove it$/)]);
  });
});
