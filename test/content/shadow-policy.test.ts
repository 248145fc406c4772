import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { POLICY_DIR } from './render-support.ts';

let dir: string;
beforeEach(() => { dir = mkdtempSync(join(tmpdir(), 'tocsin-shadow-')); });
afterEach(() => { rmSync(dir, { recursive: true, force: true }); });

const shipped = readFileSync(join(POLICY_DIR, 'game-support-urgent/1.yaml'), 'utf8');
/** The shipped urgent policy with these lines replaced. */
const load = (...changes: [string, string][]) => {
  const text = changes.reduce((rest, [from, to]) => {
    if (!rest.includes(from)) throw new Error(`${from} is not in the file`);
    return rest.replace(from, to);
  }, shipped);
  mkdirSync(join(dir, 'urgent'));
  writeFileSync(join(dir, 'urgent/1.yaml'), text);
  return loadPolicies(dir)[0]?.steps.map(({ channel, shadow, escalateWhen }) => ({ channel, shadow, escalateWhen }));
};
const SMS: [string, string] = ['    channel: sms\n', '    channel: sms\n    shadow: true\n'];
const EMAIL: [string, string] = ['    channel: email\n', '    channel: email\n    shadow: true\n'];
const ESCALATES: [string, string] = ['    escalate_when: [pending, accepted, unknown, failed]\n', ''];

it('a step in shadow says so, and one without leaves it out, so that published versions keep their content', () => {
  expect(load(SMS)).toEqual([{ channel: 'sms', shadow: true, escalateWhen: ['pending', 'accepted', 'unknown', 'failed'] }, { channel: 'email', escalateWhen: [] }]);
});
it('a step in shadow need not say when it escalates, and no time is kept for it', () => {
  expect(load(SMS, ESCALATES)).toHaveLength(2);
});
it('a real step that has only shadows behind it is the last one', () => {
  expect(load(EMAIL, ESCALATES, ['    reserve: 60s\n', ''])).toHaveLength(2);
});
it('a real step that has a real one behind it must say when it escalates, whatever runs in shadow', () => {
  expect(() => load(ESCALATES)).toThrow(/escalate_when/);
});
