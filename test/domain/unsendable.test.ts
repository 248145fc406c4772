import { describe, expect, it } from '@jest/globals';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import { examplePolicy } from './policies.ts';
import { openWorld } from './world.ts';
import type { World } from './world.ts';

const damaged: SubmitResult = { kind: 'unsendable', reason: 'artifact_damaged' };
const started = (): World => {
  const world = openWorld({ policy: examplePolicy() });
  world.accept();
  world.start('sms');
  return world;
};

describe('a message that was broken off before its end', () => {
  it('is a dead letter at once, with the reason, and the next channel starts', () => {
    const world = started();
    world.answer('sms', damaged);
    expect(world.attempt('sms')).toMatchObject({ state: 'dead_lettered', reason: 'artifact_damaged', submissions: 1 });
    expect(world.requests).toContainEqual({ kind: 'dead_letter', attempt: world.attempt('sms').key, channel: 'sms', reason: 'artifact_damaged' });
    expect(world.attempt('email').state).toBe('queued');
  });

  it('is cancelled where the notification was closed meanwhile: nobody has to look at it', () => {
    const world = started();
    world.decide({ kind: 'close', reason: 'cancelled' });
    world.answer('sms', damaged);
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'closed' });
    expect(world.requests.filter((one) => one.kind === 'dead_letter')).toEqual([]);
  });

  it('says nothing against an outcome that the rescue had booked as unknown and that was heard of since', () => {
    const world = started();
    world.runTo(15_000);
    expect(world.attempt('sms').state).toBe('submitted_unknown');
    world.answer('sms', damaged);
    expect(world.attempt('sms')).toMatchObject({ state: 'dead_lettered', reason: 'artifact_damaged' });
  });
});
