import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { parse } from 'yaml';
import { watchDeployment } from '../../shared/delivery/watch-deployment.ts';
import { watchOldestDue } from '../../shared/delivery/watch-oldest-due.ts';
import { DEAD_LETTER_REASONS } from '../../shared/domain/dead-letter-reasons.ts';
import { ALERT_NAMES } from '../../shared/transports/alerts/alertmanager.ts';
import { AMTOOL, describeWithAlertTools, PROMTOOL, runTool } from '../support/alert-tools.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const RULES = `${ROOT}deploy/prometheus/tocsin.rules.yml`;
const ALERTMANAGER = `${ROOT}deploy/alertmanager/alertmanager.yml`;
interface Rule { alert?: string; record?: string; expr: string; labels?: Record<string, string>; annotations?: Record<string, string> }
const rules = (parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

describe('the rules', () => {
  let rig: Rig;
  let text = '';
  beforeAll(async () => {
    rig = await createRig();
    rig.engine.metrics.addProcess();
    watchOldestDue(rig.engine.metrics, rig.engine.db, rig.engine.now);
    watchDeployment(rig.engine);
    const { url } = await rig.start();
    await postJson(`${url}/tickets`, aTicket(), { 'Idempotency-Key': 'rules-1' });
    // What reads from the database may take longer than a scrape waits, on a machine that is busy with other things.
    for (let scrapes = 0; scrapes < 20 && !text.includes('tocsin_at_risk{'); scrapes += 1) ({ text } = await ask(`${url}/metrics`));
  });
  afterAll(() => rig.close());

  it('name only metrics that a running service shows, and labels that these have', () => {
    const shown = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] as string));
    for (const { expr } of rules) {
      for (const [, name] of expr.matchAll(/\b((?:tocsin|nodejs|process)_\w+)/g)) expect([...shown]).toContain(String(name).replace(/_(bucket|count|sum)$/, (ending) => (shown.has(String(name)) ? ending : '')));
    }
    for (const [kind, value] of [['kind', 'decision'], ['kind', 'outbox'], ['kind', 'poll'], ['finding', 'at_risk']]) expect(text).toContain(`${kind}="${value}"`);
  });

  it('see a value where all is well, so that silence is none', () => {
    expect(text).toMatch(/^tocsin_at_risk\{finding="at_risk"\} 0$/m);
    expect(text).toMatch(/^tocsin_alerts_open\{kind="stalled"\} 0$/m);
    expect(text).toMatch(/^tocsin_feed_lag_seconds \d/m);
    expect(text).toMatch(/^tocsin_retained_bytes\{kind="database"\} \d{6,}$/m);
  });

  test('each alert has a severity, a sentence and its runbook', () => {
    for (const { alert, labels, annotations } of alerts) {
      expect([alert, labels?.['severity']]).toEqual([expect.stringMatching(/^Tocsin[A-Z]\w+$/), expect.stringMatching(/^(page|warning)$/)]);
      expect(annotations?.['summary']).toBeTruthy();
      expect(annotations?.['runbook']).toMatch(/^docs\/runbooks\//);
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });

  describeWithAlertTools('and their own tools', () => {
    it('find nothing wrong with the rules, the route and what a service shows', () => {
      expect(runTool(PROMTOOL as string, ['check', 'rules', RULES])).toEqual({ code: 0, said: expect.stringContaining('SUCCESS') });
      expect(runTool(AMTOOL as string, ['check-config', ALERTMANAGER])).toEqual({ code: 0, said: expect.stringContaining('SUCCESS') });
      expect(runTool(PROMTOOL as string, ['check', 'metrics'], text)).toEqual({ code: 0, said: '' });
    });

    it('fire when the engine stops, when a provider refuses and when nothing is scraped, and not otherwise', () => {
      expect(runTool(PROMTOOL as string, ['test', 'rules', `${ROOT}test/alerts/rules-test.yml`])).toEqual({ code: 0, said: expect.stringContaining('SUCCESS') });
    });

    it('send a page about one person to the on-call at once, and a warning elsewhere', () => {
      const route = (labels: string[]) => runTool(AMTOOL as string, ['config', 'routes', 'test', `--config.file=${ALERTMANAGER}`, ...labels]).said.split('\n')[0];
      expect(route([`alertname=${ALERT_NAMES.at_risk}`, 'severity=page', 'event_id=evt_1'])).toBe('on-call');
      expect(route([`alertname=${ALERT_NAMES.stalled}`, 'severity=warning', 'purpose=p'])).toBe('operators');
    });
  });
});

describe('the runbooks', () => {
  const files = readdirSync(`${ROOT}docs/runbooks`).filter((name) => name.endsWith('.md') && name !== 'README.md');
  const ofDeadLetters = readdirSync(`${ROOT}docs/runbooks/dead-letters`);

  it('are one for each alert and no others, and each names the alert it is for', () => {
    const told = ['at-risk.md', 'reserve-used.md', 'reconciliation-stalled.md'];
    const named = alerts.filter(({ alert }) => alert !== 'TocsinDeadLetters').map(({ annotations }) => String(annotations?.['runbook']).replace('docs/runbooks/', ''));
    expect(files.toSorted()).toEqual([...told, ...named].toSorted());
    for (const { alert, annotations } of alerts) if (alert !== 'TocsinDeadLetters') expect(read(String(annotations?.['runbook']))).toContain(`\`${alert}\``);
    for (const [index, name] of Object.values(ALERT_NAMES).entries()) expect(read(`docs/runbooks/${told[index]}`)).toContain(`\`${name}\``);
  });

  it('are one for each reason that a dead letter can have, and no others', () => {
    expect(ofDeadLetters.toSorted()).toEqual(DEAD_LETTER_REASONS.map((reason) => `${reason}.md`).toSorted());
  });

  test.each([...files, ...ofDeadLetters.map((name) => `dead-letters/${name}`)])('%s says what it means, where to look, what to do and what never, in few words, and is in the list', (name) => {
    const page = read(`docs/runbooks/${name}`);
    for (const part of ['**What it means.**', '**Look here.**', '**Do this.**', '**Never that.**']) expect(page).toContain(part);
    expect(page.split(/\s+/).length).toBeLessThan(260);
    expect(read('docs/runbooks/README.md')).toContain(`(${name})`);
    for (const [, linked] of page.matchAll(/`([a-z/_-]+\.md)`/g)) expect([...files, ...ofDeadLetters.map((one) => `dead-letters/${one}`)]).toContain(linked);
  });
});
