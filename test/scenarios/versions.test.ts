import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withHash } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import type { Linted } from '../../shared/content/lint.ts';
import { activatePolicy } from '../../shared/delivery/activate-policy.ts';
import { renderAgain } from '../../shared/delivery/render-again.ts';
import { createVersionStore } from '../../shared/delivery/versions.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { templateNamed } from '../content/render-support.ts';
import { describeOnBackends } from '../support/backends.ts';
import { shippedPolicy, untiringPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const PURPOSE = 'game-support-urgent';
const first = shippedPolicy(PURPOSE, untiringPolicies());

/** The urgent texts with another subject and another word. */
const secondTemplate = (channel: 'sms' | 'email'): TemplateVersion => {
  const template = templateNamed(`${PURPOSE}-${channel}`);
  const reworded = Object.fromEntries(Object.entries(template.locales).map(([locale, parts]) => [
    locale, Object.fromEntries(Object.entries(parts).map(([part, source]) => [part, source.replace('URGENT', 'AT ONCE').replace('[Urgent]', '[At once]')])),
  ]));
  return withHash({ ...template, version: template.version + 1, locales: reworded });
};
const second: Policy = { ...first, version: first.version + 1, steps: first.steps.map((step) => ({ ...step, templateVersion: step.templateVersion + 1, decideWithinMs: step.channel === 'sms' ? 45_000 : step.decideWithinMs })) };

/** Of its templates, in the order of the steps. */
const versionsOf = ({ steps }: Policy): number[] => steps.map(({ templateVersion }) => templateVersion);

/** As the folders would be read. */
const LINTED: Linted = {
  problems: [], policies: [{ policy: second, file: `policies/${PURPOSE}/${second.version}.yaml`, at: () => { throw new Error('there is no fault'); } }],
  templates: (['sms', 'email'] as const).map((channel) => ({ template: secondTemplate(channel), at: () => { throw new Error('there is no fault'); }, fileOf: () => '' })),
};

describeOnBackends('a new version of a policy', (backend) => {
  let world: World;
  let tick = 0;
  beforeAll(async () => {
    world = await openWorld({ backend });
    Object.assign(world.engine, { versions: createVersionStore(world.engine.db, () => tick) });
  });
  afterAll(() => world.close());

  const submitted = (eventId: string, channel: string) => world.until(eventId, (state) => state.attempts.some((attempt) => attempt.channel === channel && attempt.state === 'submitted'));
  const received = (eventId: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(eventId)).map(({ body, subject }) => subject ?? body).reverse();

  test('changes nothing of what is under way: its fallback comes by the clocks and texts it was accepted under, and renders to the same hash', async () => {
    const older = await world.accept('03');
    await submitted(older, 'sms');
    const planned = (await renderAgain(world.engine, older))?.[0];
    expect(planned).toMatchObject({ verdict: 'matches', templateVersion: versionsOf(first)[0] });

    expect(await activatePolicy(world.engine, { purpose: PURPOSE, version: second.version, reason: 'checked', actor: 'ada', linted: LINTED })).toEqual({ kind: 'activated', before: first.version });
    tick += 1_000;
    const newer = await world.accept('03');
    await submitted(newer, 'sms');

    await world.advance(31_000);
    await submitted(older, 'email');
    expect((await world.state(newer)).attempts.map(({ channel }) => channel)).toEqual(['sms']);
    await world.advance(15_000);
    await submitted(newer, 'email');

    expect(received(older)).toEqual([expect.stringContaining('Tocsin URGENT:'), expect.stringContaining('[Urgent]')]);
    expect(received(newer)).toEqual([expect.stringContaining('Tocsin AT ONCE:'), expect.stringContaining('[At once]')]);
    const again = await renderAgain(world.engine, older);
    expect(again?.map(({ verdict, templateVersion }) => [verdict, templateVersion])).toEqual(versionsOf(first).map((version) => ['matches', version]));
    expect(again?.[0]).toEqual(planned);
    expect((await renderAgain(world.engine, newer))?.map(({ verdict, templateVersion }) => [verdict, templateVersion])).toEqual(versionsOf(second).map((version) => ['matches', version]));
    expect((await world.ask('SELECT DISTINCT policy_version, template_version FROM attempt WHERE event_id = ANY($1) ORDER BY 1, 2', [[older, newer]])).map((row) => [row['policy_version'], row['template_version']])).toEqual([first, second].flatMap((policy) => versionsOf(policy).map((version) => [policy.version, version])));
    expect((await world.ask('SELECT DISTINCT policy_version FROM ledger_entry WHERE event_id = $1', [older]))).toEqual([{ policy_version: first.version }]);
    const faults = collectFaults(10);
    await verifyNotifications(world.engine.db, { faults, ring: world.engine.ring });
    expect(faults.list).toEqual([]);
  });
});
