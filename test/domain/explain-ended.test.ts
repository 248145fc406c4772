import { describe, expect, it } from '@jest/globals';
import { answerChannels } from '../../shared/domain/answer-channels.ts';
import type { LetterEnd } from '../../shared/domain/explain-dead-letter.ts';
import type { ExplainedEntry } from '../../shared/domain/explain.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import { RECONCILING, examplePolicy } from './policies.ts';
import type { World } from './world.ts';
import { accepted, openWorld, reads, unavailable } from './world.ts';

const entriesOf = (world: World): ExplainedEntry[] => world.entries.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details as never }));
const told = (world: World, policy = examplePolicy()): string => explain(world.state, entriesOf(world), policy).join('\n');
const answer = (world: World, policy = examplePolicy()): string => answerChannels(world.state, entriesOf(world), policy)[0]?.text ?? '';
const open = (policy: Policy = examplePolicy()): World => {
  const world = openWorld({ policy });
  world.accept();
  return world;
};

describe('a dead letter', () => {
  const stopped = (): World => {
    const world = openWorld({ policy: examplePolicy(), carriers: RECONCILING });
    world.accept();
    world.start('sms');
    world.answer('sms', unavailable);
    return world;
  };

  it('waits for an operator as long as nothing resolved it', () => {
    expect(told(stopped())).toMatch(/SMS stopped at \S+ after 1 submission\(s\) \(provider_auth; .*\); it is a dead letter that an operator must look at\./);
    expect(answer(stopped())).toMatch(/it stopped, and it waits for an operator \(provider_auth; /);
  });

  it.each<[string, (world: World) => void, string]>([
    ['another channel delivered', (world) => { world.start('email'); world.answer('email', accepted()); world.poll('email', reads('delivered')); }, 'until 2026-01-05T12:00:10Z, when email was confirmed *delivered*'],
    ['it was closed', (world) => { world.close(); }, 'until 2026-01-05T12:00:10Z, when the notification was closed'],
    ['it expired', (world) => { world.runTo(16 * 60_000); }, 'until 2026-01-05T12:15:00Z, when the notification expired'],
    ['it was retried', (world) => { world.setProvider('sms', { state: 'closed' }); world.retry('sms', { acceptDuplicate: true }); }, 'until 2026-01-05T12:00:10Z, when an operator retried it'],
  ])('waits for nobody any more once %s', (_, act, until) => {
    const world = stopped();
    world.jumpTo(10_000);
    act(world);
    expect(told(world)).toContain(`; it was a dead letter ${until}.`);
    // Retried, the answer is about the new attempt.
    if (world.attempt('sms').sequence === 1) expect(answer(world)).toContain(`it stopped, and it waited for an operator ${until}`);
    expect(told(world) + answer(world)).not.toMatch(/must look at|waits for an operator/);
  });
});

describe('a dead letter that ended by its row alone', () => {
  const stopped = (): World => {
    const world = open();
    world.start('sms');
    world.answer('sms', unavailable);
    return world;
  };
  const both = (world: World, ends: LetterEnd[]): string[] => [explain(world.state, entriesOf(world), examplePolicy(), ends).join('\n'), answerChannels(world.state, entriesOf(world), examplePolicy(), ends)[0]?.text ?? ''];
  const KEY = `${stopped().state.eventId}.sms.1`;

  it.each<[string, LetterEnd['as'], string]>([
    ['was discarded', 'discarded', 'an operator discarded it'],
    ['expired after everything had settled', 'expired', 'the notification expired'],
  ])('and %s waits for nobody any more', (_, as, how) => {
    const world = stopped();
    const [sentences, answered] = both(world, [{ attempt: KEY, at: world.now + 30_000, as }]);
    const until = `until 2026-01-05T12:00:30Z, when ${how}`;
    expect(sentences).toContain(`; it was a dead letter ${until}.`);
    expect(answered).toContain(`it stopped, and it waited for an operator ${until}`);
  });

  it('is told by what came first, its row or an entry, and never by that of another attempt or of an earlier time', () => {
    const world = stopped();
    world.jumpTo(60_000);
    world.close();
    const closed = 'until 2026-01-05T12:01:00Z, when the notification was closed';
    const discarded = 'until 2026-01-05T12:00:30Z, when an operator discarded it';
    const at = world.now - 30_000;
    expect(both(world, [{ attempt: KEY, at, as: 'discarded' }, { attempt: KEY, at: world.now, as: 'closed' }]).every((text) => text.includes(discarded))).toBe(true);
    expect(both(world, [{ attempt: KEY, at: world.now, as: 'closed' }]).every((text) => text.includes(closed))).toBe(true);
    for (const end of [{ attempt: KEY.replace('sms', 'email'), at }, { attempt: KEY, at: world.state.requestedAt - 1 }]) {
      expect(both(world, [{ ...end, as: 'discarded' }]).every((text) => text.includes(closed))).toBe(true);
    }
  });
});

it('a dead letter of a policy that uses all of its channels waits on, whatever another channel delivers', () => {
  const policy = examplePolicy({ policy: { strategy: 'all' } });
  const world = openWorld({ policy, carriers: RECONCILING });
  world.accept();
  world.start('sms');
  world.answer('sms', unavailable);
  world.start('email');
  world.answer('email', accepted());
  world.poll('email', reads('delivered'));
  expect(told(world, policy)).toContain('it is a dead letter that an operator must look at.');
});

describe('a deadline after the end', () => {
  it('says of a later channel that the end kept it from being claimed, and not that there was none', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.close();
    world.runTo(31_000);
    expect(told(world)).toContain('passed with *pending*; the notification had been closed by then, so email was not claimed.');
    const last = open(examplePolicy({ order: ['sms'] }));
    last.start('sms');
    last.answer('sms', accepted());
    last.close();
    last.runTo(31_000);
    expect(told(last, examplePolicy({ order: ['sms'] }))).toContain('passed with *pending*; no later channel was left to claim.');
  });
});

describe('the answer of a throttled channel', () => {
  it('says how many are let through within what time', () => {
    const policy = examplePolicy({ sms: { throttle: { most: 5, withinMs: 300_000 } } });
    const [skipped, barred] = [openWorld({ policy }), open(policy)];
    skipped.accept({ barred: { sms: 'throttled' } });
    barred.bar('sms', 'throttled');
    barred.start('sms');
    const text = /was not used because its destination had the 5 that policy example\/1 lets through within 5 min, so email was started instead \(throttled/;
    expect([answer(skipped, policy), answer(barred, policy)]).toEqual([expect.stringMatching(text), expect.stringMatching(text)]);
  });
});
