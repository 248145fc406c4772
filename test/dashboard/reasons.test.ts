import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { readReason } from '../../services/dashboard/reason-routes.ts';
import { closeSchema } from '../../services/intake/closing.ts';
import { pauseSchema } from '../../services/intake/pausing.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { keepSessions, makeOperator } from '../support/sign-in.ts';

const REFUSED: [string, string][] = [
  ['nothing', ''], ['spaces', ' \t\n\u00a0\u3000'], ['a NUL', '\u0000'], ['a NUL in a text', 'che\u0000cked'], ['control characters', '\u0007\u001b'], ['characters without width', '\u200b\u2060\ufeff'],
  ['marks of direction', '\u202e\u2066\u2069'], ['fillers that are drawn as nothing', '\u3164\u115f'], ['a blank of Braille', '\u2800'], ['half of a pair', 'ok \ud83d'], ['more than 500 characters', 'x'.repeat(501)],
];
const TAKEN: [string, string][] = [['a code', 'checked'], ['a sentence', 'Called them, and they came.'], ['500 characters outside of the plane', '🦉'.repeat(500)], ['words from right to left', '\u202bשלום\u202c']];

describe('a person\'s reason', () => {
  let rig: Rig;
  let dashboard: RunningDashboard;
  let eventId: string;
  beforeAll(async () => {
    rig = await createRig();
    eventId = String((await postJson(`${(await rig.start()).url}/tickets`, aTicket())).body.event_id);
    await makeOperator(rig.engine, 'ada', 'operator');
    dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
  });
  afterAll(async () => {
    await dashboard.close();
    await rig.close();
  });
  const session = keepSessions(() => dashboard.url);
  const send = async (path: string, fields: [string, string][]) => {
    const { cookie, token } = await session('ada');
    return ask(`${dashboard.url}${path}`, { method: 'POST', headers: { Cookie: cookie, 'Content-Type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams([['token', token], ...fields]).toString() });
  };
  const alert = (text: string): string => /role="alert">([^<]*)</.exec(text)?.[1] ?? '';
  const takenByApi = (reason: string): boolean => [closeSchema, pauseSchema].every((schema) => schema.safeParse({ reason }).success);

  it.each(REFUSED)('is refused by the API and by the dashboard alike where it is %s', async (_what, reason) => {
    expect([takenByApi(reason), 'problem' in readReason(reason)]).toEqual([false, true]);
    // A form is UTF-8: half of a pair cannot come by one.
    if (/\p{Surrogate}/u.test(reason)) return;
    for (const path of ['/reason', `/notifications/${eventId}/pause`]) {
      const { status, text, headers } = await send(path, [['reason', reason]]);
      expect([path, status, alert(text), headers.get('set-cookie')]).toEqual([path, 422, expect.stringMatching(/^(A reason is missing|The reason has (a NUL|nothing in it to read|more than 500))/), null]);
    }
    expect((await rig.engine.load(eventId))?.state.paused).toBeNull();
  });

  it.each(TAKEN)('is taken by both where it is %s', (_what, reason) => {
    expect([takenByApi(reason), readReason(reason)]).toEqual([true, { reason }]);
  });

  it('that comes twice in one form is told so, and neither is taken', async () => {
    for (const path of ['/reason', `/notifications/${eventId}/pause`]) {
      const { status, text } = await send(path, [['reason', 'checked'], ['reason', 'incident']]);
      expect([path, status, alert(text)]).toEqual([path, 422, 'The reason is given several times. Give it once.']);
    }
    expect((await rig.engine.load(eventId))?.state.paused).toBeNull();
  });
});
