import { describe, expect, it } from '@jest/globals';
import { SegmentedMessage } from 'sms-segments-calculator';
import { normaliseEmail, normalisePhone } from '../../shared/content/address.ts';
import { parseDuration } from '../../shared/content/duration.ts';
import { smsSize } from '../../shared/content/segments.ts';

describe('segments', () => {
  it.each([
    ['a'.repeat(160), 1], ['a'.repeat(161), 2], ['a'.repeat(306), 2], ['a'.repeat(307), 3], ['€'.repeat(80), 1], ['€'.repeat(81), 2], [`${'a'.repeat(159)}€`, 2],
    [`${'a'.repeat(152)}€${'a'.repeat(152)}`, 3], [']'.repeat(153), 3], ['Ж'.repeat(70), 1], ['Ж'.repeat(71), 2], ['Ж'.repeat(134), 2], ['Ж'.repeat(135), 3],
    ['😀'.repeat(35), 1], ['😀'.repeat(36), 2], [`${'Ж'.repeat(66)}😀${'Ж'.repeat(66)}`, 3],
  ])('of %s are %i', (text, segments) => {
    expect(smsSize(text).segments).toBe(segments);
  });

  it('are counted alike on the short way for plain texts and on the long one', () => {
    const basic = [...'@$!"#%&\'()*+,-./:;<=>?_ \nAZaz09'];
    for (const character of basic) expect(smsSize(character.repeat(160))).toEqual({ segments: 1, encoding: 'GSM-7' });
    for (const character of basic) expect(new SegmentedMessage(character.repeat(160))).toMatchObject({ segmentsCount: 1, encodingName: 'GSM-7' });
  });

  it.each(['’', '`', 'ç', '\t', '\u00a0'])('%j forces UCS-2', (character) => {
    expect(smsSize(`a${character}`).encoding).toBe('UCS-2');
  });

  it.each(['Ç', 'é', 'ä', '_', '@'])('%j is GSM-7', (character) => {
    expect(smsSize(`a${character}`).encoding).toBe('GSM-7');
  });
});

describe('a phone number', () => {
  it.each([
    ['+1 (202) 555-0123', '+12025550123'], ['+12025550101', '+12025550101'], ['+39 06 1234 5678', '+390612345678'], ['+54 11 15 2345-6789', '+5491123456789'],
    [' +49 1512 3456789 ', '+4915123456789'],
  ])('%j becomes %s', (text, e164) => {
    expect(normalisePhone(text)).toBe(e164);
  });

  it.each(['not a number', '', '2025550123', '+1202555', '+1-800-FLOWERS', '+12025550123;ext=5', '+12025550123\r\n', '12345', '+', '+447700900123', `+1${' '.repeat(60)}2025550123`])(
    '%j is none', (text) => { expect(normalisePhone(text)).toBeNull(); });
});

describe('an email address', () => {
  it.each([
    ['player@example.com', 'player@example.com'], ['First.Last+tag@Sub.EXAMPLE.com', 'First.Last+tag@sub.example.com'], [' a@example.com ', 'a@example.com'],
  ])('%j becomes %s', (text, address) => {
    expect(normaliseEmail(text)).toBe(address);
  });

  it.each(['a@b', '', '@example.com', 'a@', 'a b@example.com', 'a@example.com\r\nBcc: b@example.com', 'a@example.com\n', 'a@@example.com', 'a@-x.com', 'a@example..com', '.a@example.com',
    'a..b@example.com', '"a b"@example.com', 'a@[127.0.0.1]', 'a@127.0.0.1', 'a@example.com,b@example.com', '<a@example.com>', `${'a'.repeat(65)}@example.com`, `a@${'b.'.repeat(130)}com`])(
    '%j is none', (text) => { expect(normaliseEmail(text)).toBeNull(); });
});

describe('a duration', () => {
  it('has a unit', () => {
    expect(['500ms', '30s', '15m', '24h', '400d', '1.5s'].map(parseDuration)).toEqual([500, 30_000, 900_000, 86_400_000, 34_560_000_000, 1_500]);
    expect(['30', '', 's', '-5s', '5 s', '1e3s', '30sec', '0.0001ms'].map(parseDuration)).toEqual(Array(8).fill(null));
  });
});
