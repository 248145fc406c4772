import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isWithin, lintContent } from '../../shared/content/lint.ts';
import { checkPublished } from '../../shared/content/published-check.ts';
import type { FileProblem } from '../../shared/content/yaml-file.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

const BROKEN = join(import.meta.dirname, 'broken');

/** Every fault of a case. A case without policies or templates of its own is held against the shipped ones, which are clean. */
const faultsOf = (name: string): FileProblem[] => {
  const folder = (kind: string, shipped: string): string => (existsSync(join(BROKEN, name, kind)) ? join(BROKEN, name, kind) : shipped);
  const folders = { policyDir: folder('policies', POLICY_DIR), templateDir: folder('templates', TEMPLATE_DIR) };
  const linted = lintContent({ ...folders, carriers: CARRIERS });
  // The shipped policies name the shipped templates, which such a case does not have.
  const own = linted.problems.filter((one) => folders.policyDir !== POLICY_DIR || !isWithin(one, folders.policyDir));
  return [...own, ...checkPublished(linted, [{ kind: 'policy', name: 'notice', version: 1, hash: name === 'version-changed' ? 'as it was' : '', activatedAt: Date.UTC(2026, 10, 29) }].filter(({ hash }) => hash !== '') as Parameters<typeof checkPublished>[1])];
};

const POLICY = 'policies/notice/1.yaml';
const SMS = 'templates/notice-sms/1';
const EMAIL = 'templates/notice-email/1';

/** The folder under `broken`, where its mistake stands, its code, and what must be said, the cure after the semicolon. */
const CASES: [name: string, place: string, code: string, said: RegExp][] = [
  ['deadline-after-expiry', `${POLICY}:38`, 'deadline_after_expiry', /not shorter than expires_after; shorten it or let the notification live longer/],
  ['reserve-too-large', `${POLICY}:12`, 'reserve_too_large', /not longer than the reserves of all steps together; lengthen it or shorten them/],
  ['clocks-do-not-fit', `${POLICY}:25`, 'clocks_do_not_fit', /leaves later steps less than their reserve; shorten it/],
  ['polls-after-deadline', `${POLICY}:23`, 'polls_after_deadline', /start only after the decision deadline; let the first come before decide_within/],
  ['unbounded-retries', `${POLICY}:30`, 'unbounded_retries', /is missing; retries without a bound never end: state how many/],
  ['unknown-channel', `${POLICY}:20`, 'unknown_channel', /must be one of sms, email; write one of them/],
  ['unknown-template', `${POLICY}:21`, 'unknown_template', /game-support-sms, which no template is called; correct it, or add/],
  ['unknown-template-version', `${POLICY}:22`, 'unknown_template_version', /is 7, but game-support-urgent-sms has 1; name one of these/],
  ['no-escalate-when', `${POLICY}:19`, 'no_escalate_when', /is missing; state in which of pending, accepted, unknown, failed/],
  ['empty-escalate-when', `${POLICY}:26`, 'no_escalate_when', /is empty, so that nothing lets the next step start; list some of/],
  ['accepted-never-confirmed', `${POLICY}:24`, 'accepted_never_confirmed', /acceptance is the last that smtp ever says.*; drop it/],
  ['no-on-unknown', `${POLICY}:19`, 'no_on_unknown', /is missing; state one of hold, replay, resubmit_if_absent/],
  ['replay-without-deduplication', `${POLICY}:27`, 'replay_without_deduplication', /twilio would send a second message.*; write hold/],
  ['resubmit-without-lookup', `${POLICY}:27`, 'resubmit_without_lookup', /twilio cannot be asked.* by its reference; write hold/],
  ['no-consent-rule', `${POLICY}:9`, 'no_consent_rule', /has no rule for sms; list the lawful bases/],
  ['basis-misspelt', `${POLICY}:9`, 'basis_misspelt', /is consnet, and consent is what is used elsewhere; correct it/],
  ['region-without-rule', `${POLICY}:12`, 'region_without_rule', /has no rule; list under consent, .* or drop the region/],
  ['unknown-time-zone', `${POLICY}:12`, 'unknown_time_zone', /not a known time zone; write recipient, or an IANA name/],
  ['quiet-all-day', `${POLICY}:12`, 'quiet_all_day', /cover the whole day.*; leave some of it open/],
  ['quiet-all-day-together', `${POLICY}:12`, 'quiet_all_day', /together are quiet the whole day \(in January\).*; name zones that lie closer together/],
  ['quiet-all-day-in-summer', `${POLICY}:12`, 'quiet_all_day', /together are quiet the whole day \(in March\).*; name zones that lie closer together/],
  ['duplicate-version', 'policies/notice/01.yaml:1', 'duplicate_version', /claims version 1 of this purpose.*; remove one, or give it the next number/],
  ['version-changed', `${POLICY}:2`, 'version_changed', /activated on 2026-11-29 with another content.*; restore version 1, and give the changed file the next number/],
  ['unknown-variable', `${SMS}/sms.en.liquid:2`, 'unknown_variable', /not among the variables of template.yaml; declare it or correct its name/],
  ['variable-not-supplied', `${POLICY}:45`, 'variable_not_supplied', /lacks code, which notice-sms 1 needs; add it/],
  ['link-host', `${SMS}/sms.en.liquid:2`, 'link_host', /links to www.example.net, which is not allowed; list it under link_hosts/],
  ['link-host-html', `${EMAIL}/html.en.liquid:3`, 'link_host', /links to www.example.net, which is not allowed; list it under link_hosts/],
  ['link-host-variable', `${SMS}/sms.en.liquid:2`, 'link_host', /links to {{ … }}.evil.example.net, a host that a variable decides; write the host/],
  ['link-host-variable-html', `${EMAIL}/html.en.liquid:3`, 'link_host', /links to {{ … }}.evil.example.net, a host that a variable decides; write the host/],
  ['link-continued', `${SMS}/sms.en.liquid:2`, 'link_changed', /goes on right behind the link of a variable.*; put a space between/],
  ['link-filtered', `${SMS}/sms.en.liquid:2`, 'link_changed', /changes the link link_url by replace.*; show it as it is/],
  ['link-entity', `${EMAIL}/html.en.liquid:3`, 'link_host', /links to evil.example.net, which is not allowed; list it/],
  ['link-javascript', `${EMAIL}/html.en.liquid:3`, 'link_scheme', /is a link by javascript.*; write https/],
  ['link-data', `${EMAIL}/html.en.liquid:3`, 'link_scheme', /is a link by data.*; write https/],
  ['link-ftp', `${SMS}/sms.en.liquid:2`, 'link_scheme', /is a link by ftp.*; write https/],
  ['link-string', `${EMAIL}/html.en.liquid:3`, 'link_variable', /takes a link from what is no url variable; declare the variable with type: url/],
  ['link-bare-www', `${SMS}/sms.en.liquid:2`, 'link_host', /links to www.evil.example.net, which is not allowed; list it/],
  ['link-bare', `${SMS}/sms.en.liquid:2`, 'link_host', /links to evil.example.net, which is not allowed; list it/],
  ['http-link', `${SMS}/sms.en.liquid:2`, 'http_link', /holds an http link; write https/],
  ['segment-budget', `${SMS}/sms.de.liquid:1`, 'segment_budget', /up to 2 segments \(UCS-2\), more than its budget of 1; shorten/],
  ['states-another-expiry', `${EMAIL}/template.yaml:9`, 'states_differ', /is 900s, but notice-sms 1 .* states 600s; make both/],
  ['states-another-action', `${EMAIL}/template.yaml:9`, 'states_differ', /is call us, but notice-sms 1 .* states sign in; make both/],
  ['states-another-host', `${EMAIL}/template.yaml:9`, 'states_differ', /is www.example.net, but notice-sms 1 .* states link_url; make both/],
  ['states-host-not-shown', `${SMS}/sms.en.liquid:1`, 'states_differ', /does not show host, where the reader is led by what template.yaml states; add {{ host }}/],
  ['states-own-host', `${SMS}/sms.en.liquid:1`, 'states_differ', /does not show host, .*; add {{ host }}/],
  ['states-own-time', `${SMS}/sms.en.liquid:1`, 'states_differ', /does not show valid_until, which notice-email 1 .* tells its reader; add {{ valid_until }}/],
  ['states-of-one-alone', `${SMS}/template.yaml:1`, 'states_differ', /do not say action, which notice-email 1 .* states; state it here too/],
  ['no-postal-address', `${EMAIL}/template.yaml:3`, 'no_postal_address', /is commercial, which needs a postal address; add postal_address/],
  ['no-opt-out', `${EMAIL}/template.yaml:3`, 'no_opt_out', /needs a way to opt out; add opt_out/],
  ['no-one-click', `${EMAIL}/template.yaml:3`, 'no_one_click', /headers to unsubscribe with one click; add one_click/],
  ['no-fallback-locale', `${SMS}/template.yaml:8`, 'no_fallback_locale', /is not among the locales; add it there, with its files/],
  ['secret-channel', `${SMS}/template.yaml:5`, 'secret_channel', /is secret and may not be carried by sms; drop it from this template/],
  ['secret-in-sms', `${SMS}/template.yaml:5`, 'secret_channel', /is secret, and email alone may carry it where no channels are listed; drop it from this template, or list sms under its channels/],
  ['secret-in-the-open', `${SMS}/template.yaml:5`, 'secret_channel', /is secret in notice-email of notice 1 and not here; drop it/],
  ['sender-unregistered', `${POLICY}:8`, 'sender_unregistered', /needs a registered sender for sms.*; register one/],
  ['unclosed-tag', `${SMS}/sms.en.liquid:1`, 'unclosed_tag', /tag .* not closed; close it/],
  ['unclosed-output', `${SMS}/sms.en.liquid:2`, 'unclosed_tag', /output .* not closed; close it/],
  ['unclosed-raw', `${SMS}/sms.en.liquid:2`, 'unclosed_tag', /raw .* not closed; close it/],
  ['unknown-filter', `${SMS}/sms.en.liquid:1`, 'unknown_filter', /undefined filter: shout; remove it, or use one of escape/],
  ['duplicate-key', `${POLICY}:4`, 'duplicate_key', /stands twice in one mapping; keep one/],
  ['alias-bomb', `${POLICY}:2`, 'too_many_aliases', /unfold to far more than is written; write out what they stand for/],
  ['empty-file', `${POLICY}:1`, 'empty_file', /is empty; write it, or remove it/],
  ['too-many-submissions', `${POLICY}:30`, 'unbounded_retries', /is too large or too long: at most 100; lessen it/],
  ['tab-indent', `${POLICY}:7`, 'tab_indent', /a tab indents this line; use spaces/],
  ['unit-missing', `${POLICY}:25`, 'unit_missing', /has no unit; write 30s/],
];

/** What follows from the same mistake in a second place. */
const ALSO: Readonly<Record<string, string[]>> = { 'reserve-too-large': ['clocks_do_not_fit'], 'variable-not-supplied': ['variable_not_supplied'], 'states-of-one-alone': ['states_differ'], 'alias-bomb': ['unit_missing'] };

describe('lint', () => {
  it.each(CASES)('finds %s at %s, and nothing else', (name, place, code, said) => {
    const [found, ...others] = faultsOf(name);
    expect(found).toMatchObject({ code, problem: expect.stringMatching(said) });
    expect(`${found?.file}:${found?.line}`).toBe(place);
    expect(found?.level ?? 'error').toBe(['accepted_never_confirmed', 'basis_misspelt'].includes(code) ? 'warning' : 'error');
    expect(others.map((one) => one.code)).toEqual(ALSO[name] ?? []);
  });

  it('is shown every broken folder by the table', () => {
    expect(CASES.map(([name]) => name).sort()).toEqual(readdirSync(BROKEN).sort());
  });

  it('takes the link to unsubscribe, which nobody declares, for a link', () => {
    const mailing = join(import.meta.dirname, 'mailing');
    expect(lintContent({ policyDir: join(mailing, 'policies'), templateDir: join(mailing, 'templates'), carriers: CARRIERS }).problems.map(({ code }) => code)).not.toContain('link_variable');
  });

  it('finds nothing in what is shipped', () => {
    expect(lintContent({ policyDir: POLICY_DIR, templateDir: TEMPLATE_DIR, carriers: CARRIERS }).problems).toEqual([]);
  });
});
