import { describe, expect, it } from '@jest/globals';
import { pausePreview } from '../../shared/domain/pause-preview.ts';
import { examplePolicy } from './policies.ts';
import { accepted, EVENT, openAccepted, openWorld, reads, START } from './world.ts';
import type { World } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const policy = examplePolicy();
const open = (): World => openAccepted(policy);
/** Each clock with its channel and its seconds since the start. */
const told = (world: World, of = policy) => {
  const preview = pausePreview(of, world.state, world.now);
  const line = ({ kind, channel, at }: { kind: string; channel: string | null; at: number }): string => [kind, ...(channel === null ? [] : [channel]), (at - START) / SECOND].join(' ');
  return preview && { clocks: preview.clocks.map(line), breach: preview.breach && line(preview.breach), inFlight: preview.inFlight };
};

describe('the preview of a pause', () => {
  it('names what is not handed over, what is not started, and what is broken first, with their instants', () => {
    const world = open();
    world.jumpTo(2 * SECOND);
    expect(told(world)).toEqual({ clocks: ['submission sms 2', 'claim email 30', 'nothing 30', 'page 450', 'reserve 840', 'expiry 900'], breach: 'claim email 30', inFlight: [] });
  });

  it('names a call that is under way: it is not called back', () => {
    const world = open();
    world.start('sms');
    expect(told(world)).toMatchObject({ inFlight: [`${EVENT}.sms.1`], breach: 'claim email 30' });
  });

  it('endangers nothing once the last provider has it, though it still expires', () => {
    const single = examplePolicy({ order: ['sms'] });
    const world = openWorld({ policy: single });
    world.accept();
    expect(told(world, single)).toMatchObject({ breach: 'nothing 30' });
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('accepted'));
    expect(told(world, single)).toEqual({ clocks: ['expiry 900'], breach: null, inFlight: [] });
  });

  it('endangers nothing of what was delivered, and there is none of what is paused, closed or over', () => {
    const world = open();
    world.pause();
    expect(told(world)).toBeNull();
    world.resume();
    world.start('sms');
    world.answer('sms', accepted());
    expect(told(world)).toMatchObject({ breach: 'claim email 30' });
    world.poll('sms', reads('delivered'));
    expect(told(world)?.breach ?? null).toBeNull();
    world.close();
    expect(told(world)).toBeNull();
    const late = open();
    late.runTo(30 * MINUTE);
    expect(told(late)).toBeNull();
  });
});
