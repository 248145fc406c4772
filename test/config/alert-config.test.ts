import { describe, expect, it, test } from '@jest/globals';
import { readAlertConfig } from '../../shared/config/alert-config.ts';
import { readPriceList } from '../../shared/config/price-config.ts';

const SECRET = 'a-secret-of-the-pager-with-forty-characters';

describe('whom the coordinators tell', () => {
  it('is nobody where nothing is set', () => {
    expect(readAlertConfig({})).toEqual({ alertmanagerUrl: null, webhook: null, heartbeatUrl: null, runbookUrl: null });
  });

  it('is each that is named, with every secret of a change-over', () => {
    const env = { ALERTMANAGER_URL: 'http://127.0.0.1:9093', ALERT_WEBHOOK_URL: 'https://pager.example/in', ALERT_WEBHOOK_SECRET: `${SECRET}, ${SECRET}-old`, ALERT_HEARTBEAT_URL: 'https://alive.example/1', ALERT_RUNBOOK_URL: 'https://runbooks.example/t/' };
    expect(readAlertConfig(env)).toEqual({
      alertmanagerUrl: 'http://127.0.0.1:9093', webhook: { url: 'https://pager.example/in', secrets: [SECRET, `${SECRET}-old`] }, heartbeatUrl: 'https://alive.example/1', runbookUrl: 'https://runbooks.example/t',
    });
  });

  test.each([
    [{ ALERT_WEBHOOK_URL: 'https://pager.example/in' }, /ALERT_WEBHOOK_SECRET is not set/],
    [{ ALERT_WEBHOOK_URL: 'https://pager.example/in', ALERT_WEBHOOK_SECRET: `${SECRET},short` }, /ALERT_WEBHOOK_SECRET entry 2 must have at least 32 characters/],
    [{ ALERTMANAGER_URL: 'http://ada:word@127.0.0.1:9093' }, /ALERTMANAGER_URL must hold no name and password/],
    [{ ALERT_HEARTBEAT_URL: 'ftp://alive.example' }, /ALERT_HEARTBEAT_URL must be an http\(s\) URL/],
  ])('is refused as %j, without its value', (env, said) => {
    expect(() => readAlertConfig(env)).toThrow(said);
    expect(() => readAlertConfig(env)).not.toThrow(/short,|ada|word@/);
  });
});

describe('the price list', () => {
  it('is read entry by entry, and zero where nothing is said', () => {
    expect(readPriceList({})).toEqual({ sms: 0, email: 0, poll: 0, gb_month: 0 });
    expect(readPriceList({ PRICE_LIST: 'sms=0.08, email=0.001,gb_month=0.12' })).toEqual({ sms: 0.08, email: 0.001, poll: 0, gb_month: 0.12 });
  });

  test.each(['sms', 'sms=', 'sms=-1', 'fax=1', 'sms=0,08'])('is refused as %j', (text) => {
    expect(() => readPriceList({ PRICE_LIST: text })).toThrow(/PRICE_LIST entry ".*" must be/);
  });
});
