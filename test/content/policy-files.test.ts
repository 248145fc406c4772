import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadPolicies, PolicyFileError } from '../../shared/content/policy-file.ts';
import { loadRoster, RosterFileError, routeTicket } from '../../shared/content/roster.ts';
import { loadTemplates, TemplateFileError } from '../../shared/content/template-file.ts';
import { POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

let dir: string;
beforeEach(() => { dir = mkdtempSync(join(tmpdir(), 'tocsin-content-')); });
afterEach(() => { rmSync(dir, { recursive: true, force: true }); });

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
};
const problemsOf = (load: () => unknown): string => {
  try {
    load();
  } catch (error) {
    if (error instanceof PolicyFileError || error instanceof RosterFileError || error instanceof TemplateFileError) return error.message;
    throw error;
  }
  return '';
};

const urgent = readFileSync(join(POLICY_DIR, 'game-support-urgent/1.yaml'), 'utf8');
/** The urgent policy with one thing changed. */
const changed = (from: string | RegExp, to: string): string => {
  const text = urgent.replace(from, to);
  if (text === urgent) throw new Error('nothing was changed');
  return text;
};

describe('the shipped policies', () => {
  it('are read with every clock in milliseconds', () => {
    const policies = loadPolicies(POLICY_DIR);
    expect(policies.map((policy) => `${policy.purpose} ${policy.version} ${policy.urgency}`)).toEqual(expect.arrayContaining(['account-report 1 routine', 'game-support-routine 1 routine', 'game-support-urgent 1 urgent']));
    const urgent = policies.find((policy) => policy.purpose === 'game-support-urgent');
    expect(urgent).toMatchObject({ expiresAfterMs: 900_000, reconcileGraceMs: 600_000, reconcileEveryMs: 5_000, reconcileCapMs: 60_000, retentionMs: 34_560_000_000 });
    expect(urgent?.steps[0]).toEqual({
      name: 'sms', channel: 'sms', template: 'game-support-urgent-sms', templateVersion: 1, pollOffsetsMs: [5_000, 10_000, 20_000], pollJitter: 0.1, finalPollLeadMs: 2_000,
      decideWithinMs: 30_000, reserveMs: 0, escalateWhen: ['pending', 'accepted', 'unknown', 'failed'], onUnknown: 'hold', maxObservationAgeMs: 10_000, lookWithinMs: 3_000,
      transportRetry: { maxSubmissions: 6, baseMs: 1_000, capMs: 10_000 }, submitLimitMs: 15_000, requeueAfterMs: 5_000,
    });
    expect(urgent?.steps[1]).toMatchObject({ channel: 'email', reserveMs: 60_000, pollOffsetsMs: [], escalateWhen: [] });
  });

  it('name templates that are shipped, on their channel', () => {
    const templates = loadTemplates(TEMPLATE_DIR);
    for (const step of loadPolicies(POLICY_DIR).flatMap((policy) => policy.steps)) {
      expect(templates.find((one) => one.name === step.template && one.version === step.templateVersion)?.channel).toBe(step.channel);
    }
  });
});

describe('a policy file', () => {
  it('says from when on an operator is told; what it leaves out stays out of the version', () => {
    for (const policy of loadPolicies(POLICY_DIR)) expect(policy).not.toHaveProperty('alerts');
    write('reset/1.yaml', changed('retention: 400d', 'retention: 30d\nalerts: { page_before: 5m, stalled_for: 20s }'));
    write('reset/2.yaml', changed('retention: 400d', 'retention: 30d\nalerts: { unknown_for: 2m, dispatch_within: 10s }'));
    expect(loadPolicies(dir).map((policy) => policy.alerts)).toEqual([{ pageBeforeMs: 300_000, stalledForMs: 20_000 }, { unknownForMs: 120_000, dispatchWithinMs: 10_000 }]);
  });

  it('says how long the parts of a payload are kept; what it leaves out stays out of the version', () => {
    const plain = loadPolicies(POLICY_DIR).find((policy) => policy.purpose === 'game-support-routine');
    expect(plain).not.toHaveProperty('payload');
    write('reset/1.yaml', changed('retention: 400d', 'retention: 30d\npayload: { variables: settled, retry_window: 2h }'));
    write('reset/2.yaml', changed('retention: 400d', 'retention: 30d\npayload: { addresses: retention }'));
    expect(loadPolicies(dir).map((policy) => policy.payload)).toEqual([
      { variables: 'settled', addresses: 'retry_window', retryWindowMs: 7_200_000 }, { variables: 'retention', addresses: 'retention', retryWindowMs: 86_400_000 },
    ]);
  });

  it.each<[string, string, string]>([
    ['a number without a unit', changed('decide_within: 30s', 'decide_within: 30'), '1.yaml:31:20 steps[0].decide_within: has no unit; write 30s'],
    ['a duplicate key', changed('urgency: urgent', 'urgency: urgent\nurgency: routine'), '1.yaml:4:1: this key stands twice'],
    ['a tab indent', changed('  US:', '\tUS:'), '1.yaml:8:1: a tab indents this line; use spaces'],
    ['an unknown field', changed('strategy:', 'stratgy:'), 'unknown field stratgy'],
    ['a missing field', changed('strategy: escalate\n', ''), 'strategy: is missing; state one of escalate, all'],
    ['an unknown channel', changed('channel: sms', 'channel: fax'), 'steps[0].channel: must be one of sms, email'],
    ['a step without escalate_when', changed(/ +escalate_when: .*\n/, ''), 'steps[0].escalate_when: is missing'],
    ['no on_unknown', changed(/ +on_unknown: hold\n/, ''), 'steps[0].on_unknown: is missing; state one of hold, replay, resubmit_if_absent'],
    ['reserves that leave nothing', changed('reserve: 60s', 'reserve: 15m'), 'expires_after: is not longer than the reserves'],
    ['a deadline not before expiry', changed('decide_within: 30s', 'decide_within: 15m'), 'steps[0].decide_within: is not shorter than expires_after'],
    ['a deadline inside a later reserve', changed('decide_within: 30s', 'decide_within: 14m').replace('reserve: 60s', 'reserve: 2m'), 'steps[0].decide_within: leaves later steps less than their reserve'],
    ['polls after the deadline only', changed('[5s, 10s, 20s]', '[31s]'), 'steps[0].polls: start only after the decision deadline'],
    ['polls out of order', changed('[5s, 10s, 20s]', '[5s, 20s, 10s]'), 'steps[0].polls: must grow'],
    ['unbounded retries', changed('max_submissions: 6,', ''), 'max_submissions: is missing'],
    ['a share without its sign', changed('10%', '0.1'), 'steps[0].poll_jitter: is not a share'],
    ['a channel without consent rule', changed(/ +sms: \[on_call_duty, consent\]\n/, ''), 'regions.US.consent: has no rule for sms'],
    ['an unknown lifetime', changed('retention: 400d', 'retention: 400d\npayload: { variables: never }'), 'payload.variables: must be one of submitted, settled, retention'],
    ['a lifetime for secrets', changed('retention: 400d', 'retention: 400d\npayload: { secrets: settled }'), 'unknown field secrets'],
    ['a threshold of alerts without its unit', changed('retention: 400d', 'retention: 400d\nalerts: { page_before: 5 }'), 'alerts.page_before: has no unit'],
    ['a threshold below what coordinators can keep', changed('retention: 400d', 'retention: 400d\nalerts: { stalled_for: 5s }'), 'alerts.stalled_for: is too short; what is due is taken up within seconds'],
    ['a threshold that does not exist', changed('retention: 400d', 'retention: 400d\nalerts: { page_after: 5s }'), 'unknown field page_after'],
    ['a retry window beyond the retention', changed('retention: 400d', 'retention: 1h\npayload: { retry_window: 2h }'), 'payload.retry_window: is longer than retention'],
    ['a region in lower case', changed('US:', 'us:'), 'regions.us: is no key that may stand here: a region is two capital letters'],
    ['a later step without reserve', changed(/ +reserve: 60s\n/, ''), 'steps[1].reserve: is missing'],
    ['two steps of one channel', changed('channel: email', 'channel: sms'), 'steps[1].channel: is the channel of an earlier step too'],
    ['no YAML at all', '{', 'not valid YAML'],
    ['nothing', '', '1.yaml:1:1: is empty; write it, or remove it'],
    ['what is no text', '\0\u0001', '1.yaml:1:1: is not text in UTF-8; write it again'],
  ])('with %s is refused with place and cure', (_name, text, expected) => {
    write('game-support-urgent/1.yaml', text);
    expect(problemsOf(() => loadPolicies(dir))).toContain(expected);
  });

  it('of several with faults hides none', () => {
    write('one/1.yaml', changed('decide_within: 30s', 'decide_within: 30').replace('urgency: urgent', 'urgency: high'));
    write('two/1.yaml', changed('reserve: 60s', 'reserve: 60'));
    write('two/latest.yaml', urgent);
    const lines = problemsOf(() => loadPolicies(dir)).split('\n');
    expect(lines).toHaveLength(4);
    expect(lines.join('\n')).not.toContain(tmpdir());
  });
});

describe('a variable that leads nowhere', () => {
  const faultOf = (load: () => unknown): { name: string; message: string } => {
    try {
      load();
    } catch (error) {
      return error as Error;
    }
    return { name: 'none', message: '' };
  };

  it.each<[string, string, (folder: string) => unknown]>([
    ['policies', 'TOCSIN_POLICY_DIR', loadPolicies], ['templates', 'TOCSIN_TEMPLATE_DIR', loadTemplates], ['the roster', 'TOCSIN_POLICY_DIR', loadRoster],
  ])('of %s is told with the folder, the variable and what to do', (_what, variable, load) => {
    const nowhere = join(dir, 'nowhere');
    expect(faultOf(() => load(nowhere))).toMatchObject({ name: 'ConfigurationError', message: `${nowhere} is not there: correct ${variable}, or leave ${variable} unset to use what is shipped` });
    write('file', '');
    expect(faultOf(() => load(join(dir, 'file')))).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(`is not a folder: correct ${variable}`) });
  });

  it('to a folder without a roster says that one is wanted there', () => {
    const { name, message } = faultOf(() => loadRoster(dir));
    expect(name).toBe('ConfigurationError');
    expect(message).toMatch(/roster\.yaml is not there: the folder of the policies must also hold the roster .* TOCSIN_POLICY_DIR/);
  });

  it('to a template without its file names the file that is missing', () => {
    write('a/1/sms.en.liquid', 'x');
    expect(problemsOf(() => loadTemplates(dir))).toMatch(/a\/1\/template\.yaml:1:1: is not there; write it/);
  });
});

describe('the shipped roster', () => {
  const roster = loadRoster(POLICY_DIR);

  it('has an on-call for each number of the sandbox, who can be reached in both ways', () => {
    expect(roster.people.map((person) => [person.id, person.sms, person.email])).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((n) => [`oncall-0${n}`, `+1202555010${n}`, `oncall-0${n}@example.com`]));
    for (const person of roster.people) expect([person.consent.sms.length, person.consent.email.length]).toEqual([1, 1]);
  });

  it('routes categories to queue, urgency, purpose and current on-call', () => {
    expect(routeTicket(roster, { category: 'payment_lockout', region: 'US' })).toMatchObject({ kind: 'routed', urgency: 'urgent', purpose: 'game-support-urgent', person: { id: 'oncall-03' } });
    expect(routeTicket(roster, { category: 'feedback', region: 'EU' })).toMatchObject({ urgency: 'routine', purpose: 'game-support-routine' });
    expect(routeTicket(roster, { category: 'payment_lockout', region: 'BR' })).toMatchObject({ kind: 'routed' });
  });

  it('lets the picker name a person by id or by number, and names the known where it cannot', () => {
    for (const onCall of ['oncall-05', '05']) expect(routeTicket(roster, { category: 'feedback', region: 'US', onCall })).toMatchObject({ person: { id: 'oncall-05' } });
    expect(routeTicket(roster, { category: 'feedback', region: 'US', onCall: '99' })).toMatchObject({ kind: 'unknown_on_call', known: expect.arrayContaining(['oncall-07']) });
    expect(routeTicket(roster, { category: 'refund_everything_now', region: 'US' })).toEqual({
      kind: 'unknown_category', known: ['payment_lockout', 'account_takeover', 'live_service_incident', 'bug_report', 'purchase_question', 'feedback'] });
  });
});

describe('a roster file', () => {
  it('with faults names each with its place', () => {
    const text = readFileSync(join(POLICY_DIR, 'roster.yaml'), 'utf8');
    mkdirSync(join(dir, 'game-support-urgent'));
    write('roster.yaml', text.replace('on_call: oncall-03', 'on_call: oncall-33').replace('categories: [account_takeover]', 'categories: [payment_lockout]'));
    const problems = problemsOf(() => loadRoster(dir));
    expect(problems).toContain('queues[0].on_call: is nobody among people');
    expect(problems).toContain('queues[1].categories: hold payment_lockout');
    expect(problems).toContain('queues[3].purpose: has no folder of policies');
    write('roster.yaml', text.replace('"+12025550101"', '"+1202"').replace('America/New_York', 'America/Atlantis').replace('oncall-02@example.com', 'a@b'));
    expect(problemsOf(() => loadRoster(dir)).split('\n')).toHaveLength(3);
  });
});

describe('a template folder', () => {
  const yaml = 'owner: ours\nchannel: sms\nclassification: transactional\nvariables:\n  category: { type: string, max: 9 }\nlocales: [en]\nfallback_locale: en\n';

  it('with faults names each with its place', () => {
    write('a/1/template.yaml', yaml);
    write('a/1/sms.en.liquid', 'x\n{{ categry }}\n');
    write('b/1/template.yaml', yaml.replace('fallback_locale: en', 'fallback_locale: fr').replace('[en]', '[en, de]'));
    write('b/1/sms.en.liquid', 'line\n  {% if category %}');
    write('b/1/text.en.liquid', '');
    write('c/1/template.yaml', yaml);
    write('c/1/sms.en.liquid', '{{ category | shout }} http://example.com');
    const problems = problemsOf(() => loadTemplates(dir));
    expect(problems).toContain('a/1/sms.en.liquid:2:4 categry: is not among the variables');
    expect(problems).toContain('b/1/template.yaml:7:18 fallback_locale: is not among the locales');
    expect(problems).toContain('sms.de.liquid is not there');
    expect(problems).toMatch(/b\/1\/sms\.en\.liquid:2:\d+: tag .*not closed/);
    expect(problems).toContain('b/1/text.en.liquid:1:1: belongs to no listed locale');
    expect(problems).toMatch(/c\/1\/sms\.en\.liquid:1:\d+: undefined filter: shout/);
  });

  it('may not put a secret variable into a subject', () => {
    write('a/1/template.yaml', yaml.replace('sms', 'email').replace('max: 9', 'max: 9, secret: true'));
    for (const part of ['subject', 'text', 'html']) write(`a/1/${part}.en.liquid`, '{{ category }}');
    expect(problemsOf(() => loadTemplates(dir))).toMatch(/subject\.en\.liquid:1:4 category: is secret and may not stand in a subject[^\n]*$/);
  });
});
