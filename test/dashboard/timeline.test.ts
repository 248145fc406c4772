import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pictureOf } from '../../services/dashboard/timeline-picture.ts';
import type { DrawnEntry, Picture } from '../../services/dashboard/timeline-picture.ts';
import { GLYPH_OF, GLYPHS } from '../../services/dashboard/timeline-glyphs.ts';
import { scaleOf, ticksOf } from '../../services/dashboard/timeline-scale.ts';
import { narrowTimeline } from '../../services/dashboard/timeline-narrow.ts';
import { timeline, timelineFile } from '../../services/dashboard/timeline.ts';
import { wideTimeline } from '../../services/dashboard/timeline-wide.ts';
import { examplePolicy } from '../domain/policies.ts';
import { accepted, EVENT, lost, openWorld, readFailed, reads, rejected, START } from '../domain/world.ts';
import type { World } from '../domain/world.ts';

const POLICY = examplePolicy();
const drawnEntries = (world: World): DrawnEntry[] => world.entries.map(({ at, transition }, index) => ({
  version: index + 1, at, kind: transition.kind, attempt: (transition.details as { attempt?: string }).attempt ?? null, details: transition.details as unknown as Record<string, unknown>,
}));
const pictured = (world: World, more: DrawnEntry[] = []): Picture =>
  pictureOf({ state: world.state, entries: [...drawnEntries(world), ...more], reservesMs: POLICY.steps.map((step) => step.reserveMs), now: world.now });

/** SMS is taken and read, a read fails, a pause holds for a moment; at the deadline email is claimed and taken. */
const escalated = (): World => {
  const world = openWorld({ policy: POLICY });
  world.accept();
  world.jumpTo(40);
  world.start('sms');
  world.jumpTo(130);
  world.answer('sms', accepted());
  world.runTo(5_000);
  world.poll('sms', reads('pending'));
  world.runTo(10_000);
  world.poll('sms', readFailed());
  world.pause();
  world.runTo(14_000);
  world.resume();
  world.runTo(28_000);
  world.poll('sms', reads('accepted'));
  world.runTo(30_000);
  world.start('email');
  world.jumpTo(30_200);
  world.answer('email', accepted('SM0002'));
  world.runTo(42_000);
  return world;
};

const signs = (svg: string): { x: number; y: number; version: number }[] =>
  [...svg.matchAll(/data-version="(\d+)" transform="translate\(([\d.]+) ([\d.]+)\)"/g)].map(([, version, x, y]) => ({ version: Number(version), x: Number(x), y: Number(y) }));
const lineAt = (svg: string, kind: string): number => Number(new RegExp(`class="mark m-${kind}">.*\\n<path d="M([\\d.]+) `).exec(svg)?.[1]);

describe('the drawn timeline', () => {
  it('has a lane for the notification and one per channel, also for a channel that was not used yet', () => {
    const world = openWorld({ policy: POLICY });
    world.accept();
    const picture = pictured(world);
    expect(picture.lanes.map(({ name, standing }) => [name, standing])).toEqual([['Notice', 'open'], ['SMS', 'queued'], ['email', 'not used so far']]);
    expect(wideTimeline(picture, 'x').match(/class="lane"/g)).toHaveLength(3);
    expect(narrowTimeline(picture, 'x').match(/class="lane"/g)).toHaveLength(3);
  });

  it('has a sign, a place and words for every kind of entry that a ledger can hold', () => {
    const source = readFileSync(new URL('../../shared/domain/transitions.ts', import.meta.url), 'utf8');
    const kinds = [...source.matchAll(/\| (?:Of|About)<'(\w+)'/g)].map((match) => match[1] as string);
    expect(kinds.length).toBeGreaterThan(35);
    expect(Object.keys(GLYPH_OF).sort()).toEqual([...kinds].sort());
    const world = escalated();
    for (const kind of kinds) {
      const entry: DrawnEntry = { version: 999, at: world.now, kind, attempt: /^(Attempt|Submission)/.test(kind) ? `${EVENT}.sms.1` : null, details: { channel: 'email', from_step: 0 } };
      const picture = pictured(world, [entry]);
      const { words } = GLYPHS[GLYPH_OF[kind as keyof typeof GLYPH_OF]];
      for (const svg of [wideTimeline(picture, 'x'), narrowTimeline(picture, 'x')]) {
        expect({ kind, drawn: svg.includes('data-version="999"') }).toEqual({ kind, drawn: true });
        expect({ kind, told: svg.includes(words) }).toEqual({ kind, told: true });
        expect({ kind, odd: /NaN|undefined|Infinity/.exec(svg)?.[0] }).toEqual({ kind, odd: undefined });
      }
    }
  });

  it('places signs in the order of the ledger from left to right, and none over another of its lane', () => {
    const picture = pictured(escalated());
    const placed = signs(wideTimeline(picture, 'x'));
    expect(placed.map(({ version }) => version)).toEqual(picture.items.filter(({ from }) => from === undefined).map(({ version }) => version));
    for (const lane of new Set(placed.map(({ y }) => y))) {
      const xs = placed.filter(({ y }) => y === lane).map(({ x }) => x);
      expect(xs.slice(1).every((x, index) => x - (xs[index] as number) > 12)).toBe(true);
    }
    const xs = placed.map(({ x }) => x);
    expect(xs).toEqual([...xs].sort((one, other) => one - other));
  });

  it('draws deadline, reserve and expiry in their order, and the claim as an arrow from lane to lane with its cause', () => {
    const picture = pictured(escalated());
    const svg = wideTimeline(picture, 'x');
    expect(lineAt(svg, 'deadline')).toBeLessThan(lineAt(svg, 'now'));
    expect(lineAt(svg, 'now')).toBeLessThan(lineAt(svg, 'reserve'));
    expect(lineAt(svg, 'reserve')).toBeLessThan(lineAt(svg, 'expiry'));
    const claim = picture.items.find(({ glyph }) => glyph === 'claimed');
    expect([claim?.from, claim?.lane]).toEqual([1, 2]);
    expect(svg).toMatch(/<g class="claim"[^]*>claimed: deadline<\/text>/);
  });

  it('tells a read that brought news from one that did not and from one that failed', () => {
    const { items } = pictured(escalated());
    expect(items.filter(({ glyph }) => ['read', 'evidence', 'read_failed'].includes(glyph)).map(({ glyph }) => glyph)).toEqual(['read', 'read_failed', 'evidence']);
  });

  it('shades a pause, and one that still holds up to now', () => {
    const world = escalated();
    expect(pictured(world).bands).toEqual([{ from: START + 10_000, to: START + 14_000 }]);
    world.pause();
    world.jumpTo(50_000);
    expect(pictured(world).bands.at(-1)).toEqual({ from: START + 42_000, to: START + 50_000 });
    expect(wideTimeline(pictured(world), 'x').match(/class="band"/g)).toHaveLength(2);
  });

  it('draws a close as a line', () => {
    const world = escalated();
    world.close();
    expect(wideTimeline(pictured(world), 'x')).toContain('class="mark m-close"');
  });

  it('marks what ended badly, and what nobody can tell', () => {
    const world = openWorld({ policy: POLICY });
    world.accept();
    world.start('sms');
    world.answer('sms', rejected);
    world.start('email');
    world.answer('email', lost);
    const glyphs = pictured(world).items.map(({ glyph }) => glyph);
    expect(glyphs).toContain('failed');
    expect(glyphs).toContain('unknown');
    expect(pictured(world).items.find(({ glyph }) => glyph === 'failed')?.words).toBe('failed: invalid destination');
  });

  it('says everything that it draws in words too, escaped', () => {
    const world = escalated();
    const html = timeline(pictured(world, [{ version: 999, at: world.now, kind: 'NotificationClosed', attempt: null, details: { reason: '<b>x</b>' } }]));
    expect(html).toContain('aria-describedby="timeline-words"');
    expect(html.match(/<li><b>\+/g)).toHaveLength(world.entries.length + 1 + 4);
    expect(html).not.toContain('<b>x</b>');
    expect(html).not.toMatch(/ style=|<script/);
  });

  it('stands by itself as a file: styles within, nothing from elsewhere', () => {
    const svg = timelineFile(pictured(escalated()));
    expect(svg).toMatch(/^<svg [^>]*><desc id="words">\+0 s Notice: accepted by Tocsin;/);
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|href/);
  });
});

describe('the scale of the timeline', () => {
  const anchors = [0, 100, 5_000, 10_000, 30_000, 900_000].map((at) => ({ at, lane: 1 }));
  const scale = scaleOf(anchors, { start: 0, width: 1_000, quietMs: 30_000 });

  it('cuts a long quiet stretch out and gives its room to what happened', () => {
    expect(scale.breaks).toEqual([{ fromX: scale.xs[4], toX: scale.xs[5], ms: 870_000 }]);
    expect((scale.xs[4] as number)).toBeGreaterThan(900);
    expect(scale.xOf(400_000)).toBeNull();
  });

  it('lets time run evenly between signs that have room', () => {
    const [, , five, ten, thirty] = scale.xs as [number, number, number, number, number, number];
    expect((thirty - ten) / (ten - five)).toBeCloseTo(4, 5);
  });

  it('fits any number of signs into its width', () => {
    const many = scaleOf(Array.from({ length: 500 }, (_, index) => ({ at: index, lane: 1 })), { start: 0, width: 1_000, quietMs: 30_000 });
    expect(many.xs.at(-1)).toBeLessThanOrEqual(1_000.001);
  });

  it('has round ticks with room for their labels, and none inside a break', () => {
    const ticks = ticksOf(scale, { start: 0, end: 900_000, room: 64 });
    expect(ticks.map(({ ms }) => ms)).toEqual(expect.arrayContaining([0, 10_000, 20_000, 900_000]));
    expect(ticks.every(({ ms }) => ms <= 30_000 || ms === 900_000)).toBe(true);
    expect(ticks.slice(1).every(({ x }, index) => x - (ticks[index] as { x: number }).x >= 64)).toBe(true);
  });
});
