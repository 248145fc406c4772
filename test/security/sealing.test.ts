import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { generateKeyRingText, KeyRingError, parseKeyRing } from '../../shared/security/key-ring.ts';
import { open, openText, seal, SealError } from '../../shared/security/sealing.ts';
import { fingerprint, readSignedText, signText } from '../../shared/security/fingerprint.ts';

const k1 = generateKeyRingText('k1');
const k2 = generateKeyRingText('k2');
const ring = parseKeyRing(k1);
const rotated = parseKeyRing(`${k2},${k1}`);

describe('a key ring', () => {
  it('seals with its first key and opens with all of them', () => {
    const before = seal(ring, 'kept', 'row');
    const after = seal(rotated, 'new', 'row');
    expect([before.keyId, after.keyId]).toEqual(['k1', 'k2']);
    expect(openText(rotated, before, 'row')).toBe('kept');
    expect(openText(rotated, after, 'row')).toBe('new');
  });

  it.each([
    ['', 'not of the form'], ['k1', 'not of the form'], ['k1:AAAA', '3 bytes'], [`${k1},`, 'key 2'], [`${k1},${k1}`, 'repeats'],
    [`k 1:${'A'.repeat(43)}=`, 'not of the form'],
  ])('refuses %j and says what is wrong', (text, hint) => {
    expect(() => parseKeyRing(text)).toThrow(KeyRingError);
    expect(() => parseKeyRing(text)).toThrow(hint);
  });

  it('shows its keys neither in errors nor in logs', () => {
    const secret = k1.slice(3);
    expect(inspect(ring, { depth: 9 }) + JSON.stringify(ring)).not.toContain(secret);
    expect(() => parseKeyRing(`${k1},${k1}`)).not.toThrow(secret);
  });
});

describe('a sealed box', () => {
  it('gives back text and bytes exactly', () => {
    const bytes = Buffer.from([0, 255, 13, 10, 0]);
    expect(open(ring, seal(ring, bytes, 'c'), 'c').equals(bytes)).toBe(true);
    expect(openText(ring, seal(ring, 'حساب 😭\r\n', 'c'), 'c')).toBe('حساب 😭\r\n');
    expect(openText(ring, seal(ring, '', 'c'), 'c')).toBe('');
  });

  it('is another one each time, so equal contents do not show', () => {
    expect(seal(ring, 'same', 'c').box.equals(seal(ring, 'same', 'c').box)).toBe(false);
  });

  it('does not open in another context or with another ring', () => {
    const sealed = seal(ring, 'secret', 'ticket:1');
    expect(() => open(ring, sealed, 'ticket:2')).toThrow(SealError);
    expect(() => open(parseKeyRing(k2), sealed, 'ticket:1')).toThrow(/not in the ring/);
    expect(() => open(rotated, { ...sealed, keyId: 'k2' }, 'ticket:1')).toThrow(SealError);
  });

  it('does not open when any one of its bytes was changed, or when it is cut', () => {
    const sealed = seal(ring, 'secret', 'c');
    for (let at = 0; at < sealed.box.length; at += 1) {
      const box = Buffer.from(sealed.box);
      box[at] = (box[at] as number) ^ 1;
      expect(() => open(ring, { keyId: 'k1', box }, 'c')).toThrow(SealError);
    }
    for (let length = 0; length < sealed.box.length; length += 1) {
      expect(() => open(ring, { keyId: 'k1', box: sealed.box.subarray(0, length) }, 'c')).toThrow(SealError);
    }
  });
});

describe('a fingerprint', () => {
  it('survives a new key in front, differs by purpose and by ring', () => {
    const print = fingerprint(ring, 'suppression', '+12025550101');
    expect(print).toHaveLength(32);
    expect(fingerprint(rotated, 'suppression', '+12025550101').equals(print)).toBe(true);
    expect(fingerprint(ring, 'recipient', '+12025550101').equals(print)).toBe(false);
    expect(fingerprint(parseKeyRing(k2), 'suppression', '+12025550101').equals(print)).toBe(false);
  });

  it('signs a text that is read back for its purpose only and in one spelling only', () => {
    const signed = signText(ring, 'cursor', '{"x":"1"}');
    expect(readSignedText(rotated, 'cursor', signed)).toBe('{"x":"1"}');
    expect(readSignedText(ring, 'report', signed)).toBeNull();
    for (let at = 0; at < signed.length; at += 1) {
      const other = signed[at] === 'A' ? 'B' : 'A';
      expect(readSignedText(ring, 'cursor', signed.slice(0, at) + other + signed.slice(at + 1))).toBeNull();
    }
    expect(readSignedText(ring, 'cursor', '')).toBeNull();
  });
});
