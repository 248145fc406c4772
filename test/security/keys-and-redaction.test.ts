import { describe, expect, it } from '@jest/globals';
import { apiKeyIdOf, apiKeyMatches, generateApiKey, hashApiKey } from '../../shared/security/api-key.ts';
import { maskEmail, maskPhone, redactText } from '../../shared/security/redact.ts';
import { generateCode, generateFormToken, generateToken, hashToken, isFormToken, tokenMatches } from '../../shared/security/tokens.ts';

describe('an API key', () => {
  it('carries its id, matches its own hash and no other', () => {
    const key = generateApiKey();
    expect(key.text).toMatch(/^tk_/);
    expect(apiKeyIdOf(key.text)).toBe(key.id);
    expect(key.hash).toBe(hashApiKey(key.text));
    expect(apiKeyMatches(key.text, key.hash)).toBe(true);
    expect(apiKeyMatches(`${key.text}x`, key.hash)).toBe(false);
    expect(apiKeyMatches(key.text, generateApiKey().hash)).toBe(false);
    expect(apiKeyMatches(key.text, '')).toBe(false);
    expect(apiKeyIdOf('Bearer x')).toBeNull();
  });
});

describe('tokens', () => {
  it('are URL-safe, each another one, and known by their hash alone', () => {
    const token = generateToken();
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(generateToken()).not.toBe(token);
    expect(tokenMatches(token, hashToken(token))).toBe(true);
    expect(tokenMatches(token, hashToken('other'))).toBe(false);
    expect(tokenMatches(token, Buffer.alloc(0))).toBe(false);
  });

  it('come as form tokens and as codes of six digits', () => {
    expect(isFormToken(generateFormToken())).toBe(true);
    expect(isFormToken('form_1')).toBe(false);
    for (let n = 0; n < 200; n += 1) expect(generateCode()).toMatch(/^\d{6}$/);
  });
});

describe('masking', () => {
  it('leaves the end of a number and the domain of an address', () => {
    expect(maskPhone('+12025550103')).toBe('+1•••••0103');
    expect(maskPhone('+4915112345678')).toBe('+49•••••5678');
    expect(maskPhone('not a number')).toBe('•••••');
    expect(maskEmail('oncall-03@example.com')).toBe('o•••@example.com');
    expect(maskEmail('a@example.com')).toBe('•••@example.com');
    expect(maskEmail('nothing')).toBe('•••');
  });

  it.each([
    ['my code is 482913 and my card is 4111 1111 1111 1111', ['482913', '1111']],
    ['mail jo.smith+x@example.com or call +1 (202) 555-0123', ['jo.smith', '555', '202']],
    ['GET /reports/abcdefghijklmnopqrstuv?token=s3cret', ['abcdefghij', 's3cret']],
    [`Authorization: Bearer ${generateApiKey().text}`, ['tk_']],
    ['key tk_0123456789ab_c2VjcmV0LXBhcnQ refused', ['c2VjcmV0', '0123456789ab']],
    ['connect postgres://tocsin:hunter2@127.0.0.1:5432/db', ['hunter2']],
  ])('takes private parts out of %j', (text, secrets) => {
    const redacted = redactText(text);
    for (const secret of secrets) expect(redacted).not.toContain(secret);
    expect(redacted).not.toBe(text);
  });

  it('leaves event ids, attempt keys, instants and small numbers readable', () => {
    const text = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV.sms.1 took 120 ms at 2026-11-29T10:00:00.123Z on 127.0.0.1:3000, status 429';
    expect(redactText(text)).toBe(text);
  });
});
