import { describe, expect, it } from '@jest/globals';
import { answerChannels } from '../../shared/domain/answer-channels.ts';
import type { ExplainedEntry } from '../../shared/domain/explain.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import { CARRIERS, RECONCILING, examplePolicy } from './policies.ts';
import type { World } from './world.ts';
import { accepted, lost, notFound, openWorld, readFailed, reads } from './world.ts';

const policy = examplePolicy();
const entriesOf = (world: World): ExplainedEntry[] => world.entries.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details as never }));
const told = (world: World): string[] => explain(world.state, entriesOf(world), policy);
const claim = (world: World): string => told(world).find((text) => text.includes('email was claimed')) ?? '';
const sms = (world: World): string => answerChannels(world.state, entriesOf(world), policy)[0]?.text ?? '';
const unrecognised = { ...reads('unknown'), reason: 'status_not_recognised' } as ReturnType<typeof reads>;
const submitted = (answer: SubmitResult = accepted(), carriers = CARRIERS): World => {
  const world = openWorld({ policy, carriers });
  world.accept();
  world.start('sms');
  world.answer('sms', answer);
  return world;
};

describe('what is told of a provider that answered', () => {
  it('is, of a status that is not recognised, that it answered, and not that it said nothing', () => {
    const world = submitted();
    world.jumpTo(6_000);
    world.poll('sms', unrecognised);
    expect(sms(world)).toMatch(/taken by twilio at 2026-01-05T12:00:00Z, and has answered since with a status that is not recognised, at 2026-01-05T12:00:06Z\.$/);
    expect(told(world)).toContainEqual(expect.stringMatching(/^The provider last said \*pending\* about SMS, at 2026-01-05T12:00:00Z, and has answered since with a status that is not recognised, at 2026-01-05T12:00:06Z; it is asked again at /));
    world.jumpTo(12_000);
    world.poll('sms', reads('accepted'));
    expect(sms(world)).toMatch(/, and last said \*accepted\* at 2026-01-05T12:00:12Z\.$/);
  });

  it('is no look that brought nothing where the look was answered, or failed, or came too early for the claim', () => {
    const after = (reading: Parameters<World['poll']>[1] | null): string => {
      const world = submitted();
      world.runTo(30_000);
      world.jumpTo(31_000);
      if (reading) world.poll('sms', reading);
      world.runTo(33_000);
      return claim(world);
    };
    expect(after(unrecognised)).toMatch(/and has answered since with a status that is not recognised, at 2026-01-05T12:00:31Z; .* \(one more look was asked for and answered with a status that is not recognised, at 2026-01-05T12:00:31Z, so the claim rests on an observation older than the 10 s that the policy allows\)\.$/);
    expect(after(readFailed())).toMatch(/\(one more look was asked for and failed, at 2026-01-05T12:00:31Z, so /);
    expect(after(null)).toMatch(/\(one more look was asked for and brought nothing in time, so /);
  });

  it('is nothing that it never said: not *unknown* after a lost answer, nor the last status again after it does not know the message', () => {
    const unknown = submitted(lost, RECONCILING);
    unknown.jumpTo(9_000);
    expect(told(unknown).at(-2)).toMatch(/^The provider has said nothing about SMS; /);
    unknown.lookUp('sms', { kind: 'none' });
    expect(told(unknown).join('\n')).not.toContain('*unknown*;');
    expect(told(unknown).at(-2)).toMatch(/^The provider has said nothing of use about SMS, and last answered with a list in which it was not found, at 2026-01-05T12:00:09Z; /);
    const hidden = submitted();
    hidden.jumpTo(6_000);
    hidden.poll('sms', notFound);
    expect(sms(hidden)).toMatch(/, and has answered since that it does not know it \(yet\), at 2026-01-05T12:00:06Z\.$/);
  });
});
