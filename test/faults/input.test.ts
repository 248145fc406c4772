import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { normalisePhone } from '../../shared/content/address.ts';
import { smsSize } from '../../shared/content/segments.ts';
import { addressPrint, normaliseAddress } from '../../shared/delivery/suppression.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { createResendTransport } from '../../shared/transports/resend/client.ts';
import { RETRY_AFTER_CAP_MS, retryAfterMs } from '../../shared/transports/retry-after.ts';
import { createSinchTransport } from '../../shared/transports/sinch/client.ts';
import { createTwilioTransport } from '../../shared/transports/twilio/client.ts';
import type { TestServer } from '../transports/http-server.ts';
import { json, startHttpServer } from '../transports/http-server.ts';

/** Half a minute before the end of a day. */
const NOW = Date.UTC(2026, 10, 29, 23, 59, 30);

/** What the header says, and what is waited: null where it says nothing that can be understood. */
const WISHES: [string, number | null][] = [
  ['0', 0], ['1', 1_000], ['30', 30_000], [' 120 ', 120_000], ['007', 7_000], ['3600', RETRY_AFTER_CAP_MS], ['86400', RETRY_AFTER_CAP_MS], ['9'.repeat(400), RETRY_AFTER_CAP_MS],
  // the three forms of a date, over the end of a day
  ['Mon, 30 Nov 2026 00:00:00 GMT', 30_000], ['Monday, 30-Nov-26 00:00:00 GMT', 30_000], ['Mon Nov 30 00:00:00 2026', 30_000], ['mon, 30 nov 2026 00:00:00 gmt', 30_000],
  ['Sun, 29 Nov 2026 23:59:30 GMT', 0], ['Sun, 29 Nov 2026 23:59:29 GMT', 0], ['Sunday, 29-Nov-26 23:00:00 GMT', 0], ['Fri Nov  6 08:49:37 1970', 0], ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', RETRY_AFTER_CAP_MS], ['Friday, 31-Dec-99 23:59:59 GMT', 0],
  ...['', 'soon', '-1', '-0', '+5', '1.5', '1e3', '0x10', 'NaN', 'Infinity', '-Infinity', 'null', '30 s', '30, 60', '٣٠', '2026-11-30T00:00:00Z', 'Mon, 31 Nov 2026 00:00:00 GMT', 'Mon, 30 Nov 2026 24:00:01 GMT',
    'Mon, 30 Nov 2026 00:00:00 CET', 'Mon, 30 Foo 2026 00:00:00 GMT', 'Mon Nov 0 00:00:00 2026', 'Date.now()'].map((text): [string, null] => [text, null]),
];

describe('what comes in, on either backend', () => {
  let server: TestServer;
  beforeAll(async () => { server = await startHttpServer(json(500, {})); });
  afterAll(() => server.close());

  test('fault 33: a Retry-After in seconds, in each form of a date, of 0, past or garbage is never NaN, never negative and capped, by every adapter', async () => {
    const common = { baseUrl: server.url, timeoutMs: 5_000, now: () => NOW };
    const twilio = createTwilioTransport({ ...common, accountSid: `AC${'0'.repeat(32)}`, authToken: 't' });
    const sinch = createSinchTransport({ ...common, planId: 'p', token: 't' });
    const resend = createResendTransport({ ...common, token: 't' });
    const sms = { attemptKey: 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.sms.1', mayStart: () => true, message: { channel: 'sms', to: '+12025550101', from: '+12025550100', text: 'x' } } as const;
    const read = { attemptKey: sms.attemptKey, providerMessageId: 'id', to: '+12025550101' };
    try {
      expect(WISHES.map(([header]) => [header, retryAfterMs(header, NOW)])).toEqual(WISHES);
      for (const [header, waitMs] of WISHES.filter(([text]) => /^[\x20-\x7e]*$/.test(text) && text.length < 100)) {
        server.answerWith((_request, response) => { response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': header }).end('{}'); });
        const answers = [await twilio.submit(sms), await sinch.submit(sms), await twilio.readStatus(read), await sinch.readStatus(read), await resend.readStatus(read)];
        expect([header, answers.map((answer) => ('retryAfterMs' in answer ? answer.retryAfterMs : 'none'))]).toEqual([header, Array(5).fill(waitMs)]);
      }
    } finally {
      await Promise.all([twilio, sinch, resend].map((one) => one.close()));
    }
  });

  test('fault 34: segments are counted as the carriers do: 160 and 153 septets, two for an extension character, 70 and 67 code units, and nothing split across two', () => {
    const vectors: [string, number][] = [
      ['a'.repeat(160), 1], ['a'.repeat(161), 2], ['a'.repeat(306), 2], ['a'.repeat(307), 3],
      ['€'.repeat(80), 1], ['€'.repeat(81), 2], [`${'a'.repeat(159)}€`, 2], [`${'a'.repeat(152)}€${'a'.repeat(152)}`, 3], [']'.repeat(153), 3],
      ['Ж'.repeat(70), 1], ['Ж'.repeat(71), 2], ['Ж'.repeat(134), 2], ['Ж'.repeat(135), 3], ['😀'.repeat(35), 1], ['😀'.repeat(36), 2], [`${'Ж'.repeat(66)}😀${'Ж'.repeat(66)}`, 3],
    ];
    expect(vectors.map(([text]) => smsSize(text).segments)).toEqual(vectors.map(([, segments]) => segments));
    // One of these costs a text its room: 160 characters of GSM-7 take one segment, and with it three.
    const encodings = (characters: string[]) => characters.map((character) => [character, smsSize(`${'a'.repeat(159)}${character}`).encoding, smsSize(`${'a'.repeat(159)}${character}`).segments]);
    expect(encodings(['’', '`', 'ç', '\t', '\u00a0'])).toEqual(['’', '`', 'ç', '\t', '\u00a0'].map((character) => [character, 'UCS-2', 3]));
    expect(encodings(['Ç', 'é', 'ä', '_', '@', '$', '\n'])).toEqual(['Ç', 'é', 'ä', '_', '@', '$', '\n'].map((character) => [character, 'GSM-7', 1]));
    for (const character of '^{}\\[~]|€\f') expect([character, smsSize(`${'a'.repeat(158)}${character}`).segments, smsSize(`${'a'.repeat(159)}${character}`).segments]).toEqual([character, 1, 2]);
  });

  test('fault 35: a number has one form, whichever way it is written: Italy keeps its 0, an Argentine mobile gets its 9, and what is no number of a person is none', () => {
    const spellings: [string, string[]][] = [
      ['+12025550123', ['+12025550123', '+1 (202) 555-0123', ' +1.202.555.0123 ', '+1-202-555-0123', '+1/202/5550123']],
      ['+390612345678', ['+39 06 1234 5678', '+390612345678']],
      ['+5491123456789', ['+54 11 15 2345-6789', '+54 9 11 2345 6789']],
      ['+4915123456789', ['+49 1512 3456789', '+49 (0) 1512 3456789']],
    ];
    expect(spellings.map(([, texts]) => texts.map(normalisePhone))).toEqual(spellings.map(([e164, texts]) => texts.map(() => e164)));
    // Short codes, names, national forms, extensions, what is too short, too long or of no range.
    const none = ['12345', '+12345', '72727', 'TOCSIN', '+1-800-FLOWERS', '2025550123', '02025550123', '0012025550123', '+12025550123;ext=5', '+12025550123 x5', '+1202555', `+1202555012${'3'.repeat(9)}`, '+', '', '+12025550123\r\n',
      '+1 202 555 0123, +1 202 555 0124', '+390', '+999 123456789', '+447700900123', '+10000000000'];
    expect(none.map((text) => [text, normalisePhone(text)])).toEqual(none.map((text) => [text, null]));
    // Two spellings are one destination on the suppression list; two numbers are two.
    const ring = parseKeyRing(generateKeyRingText());
    const printOf = (text: string) => addressPrint(ring, 'sms', normaliseAddress('sms', text) as string).toString('hex');
    for (const [e164, texts] of spellings) for (const text of texts) expect(printOf(text)).toBe(printOf(e164));
    expect(new Set(spellings.map(([e164]) => printOf(e164))).size).toBe(spellings.length);
  });
});
