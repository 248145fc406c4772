import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import canonicalizeModule from 'canonicalize';
import fc from 'fast-check';
import { canonicalText, NotCanonicalError } from '../../shared/security/canonical.ts';
import { chainHash, contentHash } from '../../shared/security/chain-hash.ts';
import { commitTo, generateSalt } from '../../shared/security/commitment.ts';

describe('the canonical text', () => {
  it('sorts keys by UTF-16 code units and writes numbers and strings as RFC 8785 does', () => {
    const value = { '€': 1, '\r': 2, '😀': 3, '\ufb33': 4, 1: 5, numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 1e-27, -0], text: '\u20ac$\u000f\nA\'B"\\/' };
    expect(canonicalText(value)).toBe(
      '{"\\r":2,"1":5,"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],"text":"€$\\u000f\\nA\'B\\"\\\\/","€":1,"😀":3,"\ufb33":4}',
    );
  });

  it('is the same whatever the order of keys', () => {
    expect(canonicalText({ a: 1, b: { d: null, c: true } })).toBe(canonicalText({ b: { c: true, d: null }, a: 1 }));
  });

  it.each([
    ['undefined', undefined], ['an undefined member', { a: undefined }], ['a hole', [1, undefined]], ['NaN', { a: [Number.NaN] }],
    ['Infinity', Number.POSITIVE_INFINITY], ['a bigint', 1n], ['a date', { at: new Date(0) }], ['bytes', Buffer.from('x')],
    ['a function', () => 1], ['a lone surrogate', { a: '\ud83d' }], ['a lone surrogate as a key', { '\udc00': 1 }], ['a map', new Map()],
  ])('refuses %s', (_name, value) => {
    expect(() => canonicalText(value)).toThrow(NotCanonicalError);
  });

  it('is what the reference implementation writes, for any JSON', () => {
    const reference = canonicalizeModule as unknown as (value: unknown) => string;
    fc.assert(fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(canonicalText(value)).toBe(reference(value));
    }), { numRuns: 2_000 });
  });

  it('names the place of what it refuses, not the value', () => {
    expect(() => canonicalText({ a: [{ b: Number.NaN }] })).toThrow('value.a[0].b');
  });
});

describe('the chain', () => {
  it('hashes the previous hash and then the UTF-8 of the text', () => {
    const first = contentHash('{"intent":"ü"}');
    const expected = createHash('sha256').update(Buffer.concat([first, Buffer.from('{"n":1}')])).digest();
    expect(chainHash(first, '{"n":1}').equals(expected)).toBe(true);
    expect(chainHash(chainHash(first, '{"n":1}'), '{"n":1}').equals(expected)).toBe(false);
  });
});

describe('a commitment', () => {
  it('depends on recipient and salt and on nothing else', () => {
    const salt = generateSalt();
    const recipient = { ref: 'oncall-03', sms: '+12025550103' };
    expect(commitTo(recipient, salt)).toBe(commitTo({ sms: '+12025550103', ref: 'oncall-03' }, salt));
    expect(commitTo(recipient, salt)).toMatch(/^[0-9a-f]{64}$/);
    expect(commitTo(recipient, generateSalt())).not.toBe(commitTo(recipient, salt));
    expect(commitTo({ ...recipient, ref: 'oncall-04' }, salt)).not.toBe(commitTo(recipient, salt));
  });
});
