import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { ask, createRig } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';

let rig: Rig;
let dashboard: RunningDashboard;
beforeAll(async () => {
  rig = await createRig();
  dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'operator', password: 'correct:horse' } } });
});
afterAll(async () => {
  await dashboard.close();
  await rig.close();
});

const see = (path: string, password = 'correct:horse') => ask(`${dashboard.url}${path}`, { headers: { Authorization: `Basic ${Buffer.from(`operator:${password}`).toString('base64')}` } });

describe('the pages of templates', () => {
  it('need the operator\'s login', async () => {
    for (const path of ['/templates', '/templates/game-support-urgent-sms/1', '/templates/game-support-urgent-email/1/html']) expect((await see(path, 'wrong')).status).toBe(401);
  });

  it('list every version with the active policies that use it', async () => {
    const { status, text } = await see('/templates');
    expect(status).toBe(200);
    expect(text).toContain('<a href="/templates/game-support-urgent-sms/1">');
    expect(text).toContain('game-support-urgent 2');
  });

  it('show a message from sample values, and from those of the form', async () => {
    expect((await see('/templates/game-support-urgent-sms/1')).text).toContain('Tocsin URGENT: category, re, queue.');
    const { text } = await see('/templates/game-support-urgent-sms/1?locale=de-AT&v.category=%7B%7B+ref+%7D%7D%3Cb%3E');
    expect(text).toContain('Tocsin DRINGEND: {{ ref }}&lt;b&gt;, re, queue.');
    expect(text).toContain('1 segment, ');
  });

  it('give the HTML part alone, which may run nothing, load nothing and be framed by the dashboard only', async () => {
    const { text, headers } = await see('/templates/game-support-urgent-email/1/html?v.message=%3Cscript%3E');
    expect(text).toContain('&lt;script&gt;');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox");
    expect((await see('/templates/game-support-urgent-email/1')).text).toMatch(/<iframe class="mail" title="[^"]+" sandbox src="\/templates\/game-support-urgent-email\/1\/html\?/);
  });

  it('say why a message cannot be rendered, and that a version is not there', async () => {
    const refused = await see('/templates/game-support-urgent-sms/1?v.region=USA');
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('variable region is longer than 2')]);
    for (const path of ['/templates/game-support-urgent-sms/2', '/templates/nonsense/1', '/templates/game-support-urgent-sms/1/html']) expect((await see(path)).status).toBe(404);
  });
});
