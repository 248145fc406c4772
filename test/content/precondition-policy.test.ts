import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { POLICY_DIR } from './render-support.ts';

let dir: string;
beforeEach(() => { dir = mkdtempSync(join(tmpdir(), 'tocsin-precondition-')); });
afterEach(() => { rmSync(dir, { recursive: true, force: true }); });

const shipped = readFileSync(join(POLICY_DIR, 'seller-order/1.yaml'), 'utf8');
const load = (from: string | RegExp, to: string) => {
  const text = shipped.replace(from, to);
  if (text === shipped) throw new Error('nothing was changed');
  mkdirSync(join(dir, 'seller-order'));
  writeFileSync(join(dir, 'seller-order/1.yaml'), text);
  return loadPolicies(dir);
};

describe('the policy of a seller\'s order', () => {
  it('asks the shop before the text, polls at 5, 15, 35 and 75 s with jitter, and keeps a minute for the text', () => {
    const policy = loadPolicies(POLICY_DIR).find(({ purpose }) => purpose === 'seller-order');
    expect(policy?.steps.map(({ channel, precondition = null, pollOffsetsMs, pollJitter, reserveMs }) => ({ channel, precondition, pollOffsetsMs, pollJitter, reserveMs }))).toEqual([
      { channel: 'email', precondition: null, pollOffsetsMs: [5_000, 15_000, 35_000, 75_000], pollJitter: 0.1, reserveMs: 0 },
      { channel: 'sms', precondition: 'send', pollOffsetsMs: [5_000, 15_000, 35_000, 75_000], pollJitter: 0.1, reserveMs: 60_000 },
    ]);
  });
});

describe('the precondition of a step', () => {
  it('may hold where the origin system does not answer', () => {
    expect(load('on_precondition_error: send', 'on_precondition_error: hold')[0]?.steps[1]?.precondition).toBe('hold');
  });
  it('that is left out stays out of the version', () => {
    expect(loadPolicies(POLICY_DIR)[0]?.steps[0]).not.toHaveProperty('precondition');
  });
  it.each([
    ['says nothing of errors', /\n +on_precondition_error: send/, '', /steps\[1\]\.precondition.*does not say what it means/],
    ['says what an error means where nothing is asked', 'precondition: true', 'precondition: false', /steps\[1\]\.on_precondition_error.*none is asked/],
    ['leaves less than a question takes', 'reserve: 60s', 'reserve: 9s', /steps\[1\]\.reserve.*at least 10s/],
    ['differs from another step', 'look_within: 3s', 'look_within: 3s\n    precondition: true\n    on_precondition_error: hold', /steps\[1\]\.on_precondition_error.*differs/],
  ])('is refused where it %s', (_name, from, to, expected) => {
    expect(() => load(from, to)).toThrow(expected);
  });
});
