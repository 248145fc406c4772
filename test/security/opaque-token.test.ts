import { describe, expect, it } from '@jest/globals';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { openToken, sealToken } from '../../shared/security/opaque-token.ts';
import { redactText } from '../../shared/security/redact.ts';

const old = generateKeyRingText();
const ring = parseKeyRing(old);
const TEXT = '["default","ada@example.com",1767225600000]';
const token = sealToken(ring, 'a', TEXT);

describe('a token that holds a text', () => {
  it('is opened for its purpose under its key, also once another key stands in front', () => {
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(openToken(ring, 'a', token)).toBe(TEXT);
    expect(openToken(parseKeyRing(`${generateKeyRingText('k2')},${old}`), 'a', token)).toBe(TEXT);
    expect(openToken(ring, 'b', token)).toBeNull();
    expect(openToken(parseKeyRing(generateKeyRingText()), 'a', token)).toBeNull();
  });

  it('is the same for the same text, another for every other, and shows nothing of it', () => {
    expect(sealToken(ring, 'a', TEXT)).toBe(token);
    const other = sealToken(ring, 'a', TEXT.replace('1767225600000', '1767225600001'));
    expect(other.slice(0, 60)).not.toBe(token.slice(0, 60));
    expect(Buffer.from(token, 'base64url').toString('latin1')).not.toMatch(/default|ada|example/);
  });

  it('opens with no character changed, cut off or added, nor in another spelling', () => {
    for (let at = 0; at < token.length; at += 1) {
      for (const put of ['A', 'B', '', '=', '.']) {
        const changed = token.slice(0, at) + put + token.slice(at + 1);
        if (changed !== token) expect([at, openToken(ring, 'a', changed)]).toEqual([at, null]);
      }
    }
    for (const none of ['', 'x', `${token}=`, `${token}A`, ' ', 'ü', 'A'.repeat(5_000)]) expect(openToken(ring, 'a', none)).toBeNull();
  });

  it('is taken out of a text before it is logged', () => {
    expect(redactText(`at /unsubscribe/${token} it failed`)).toBe('at /unsubscribe/[redacted] it failed');
  });
});
