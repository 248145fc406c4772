import { describe, expect, it } from '@jest/globals';
import { drawTimeline } from '../../services/cli/draw-timeline.ts';
import type { LaneMark, Mark, TimelineView } from '../../services/cli/timeline-view.ts';

const START = Date.UTC(2026, 10, 29, 10, 0, 0);
const marks = (text: string): LaneMark[] => text.split(' ').map((one) => ({ mark: one.charAt(0) as Mark, at: START + Number(one.slice(1)) * 1_000 }));

const escalated: TimelineView = {
  eventId: 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', policy: 'game-support-urgent/1', status: 'sent', requestedAt: START, expiresAt: START + 900_000, settledAt: null,
  lanes: [
    { name: 'all', marks: marks('N0'), live: true, standing: 'sent' },
    { name: 'sms', marks: marks('P0 Q0 S0.1 A0.2 o5 o10 o20 o28 |30'), live: true, standing: 'submitted' },
    { name: 'email', marks: marks('F30 P30 Q30 S30.1 A30.3'), live: false, standing: 'submitted' },
  ],
  next: { at: START + 45_000, what: 'sms status read' }, notice: null,
};
const waiting: TimelineView = {
  ...escalated, status: 'in_progress', next: { at: START + 5_000, what: 'sms status read' },
  lanes: [
    { name: 'all', marks: marks('N0'), live: true, standing: 'in_progress' },
    { name: 'sms', marks: marks('P0 Q0 S0.1 A0.2 |30'), live: true, standing: 'submitted' },
    { name: 'email', marks: [], live: false, standing: 'waiting' },
  ],
};

describe('the timeline of a notification', () => {
  it('shows an escalation: polls, the deadline, and the claim of email at it', () => {
    expect(`\n${drawTimeline(escalated, 80, START + 40_000)}\n`).toBe(`
evt_01ARZ3NDEKTSV4RRFFQ69G5FAV  game-support-urgent/1
requested 10:00:00Z, expires 10:15:00Z, now 10:00:40Z

       +0s              +10s             +20s             +30s              +40s
all    N---------------------------------------------------------------------
sms    PQSA-----o-------o----------------o-------------o--|------------------
email                                                     FPQSA

sms    submitted
email  submitted
status sent
next   sms status read at 10:00:45Z, in 5s

P planned   Q queued   S submission started   A taken by the provider
o status read   | decision deadline   F claimed as fallback   N accepted
`);
  });

  it('shows a deadline ahead beyond the end of the line', () => {
    expect(`\n${drawTimeline(waiting, 60, START + 3_000)}\n`).toBe(`
evt_01ARZ3NDEKTSV4RRFFQ69G5FAV  game-support-urgent/1
requested 10:00:00Z, expires 10:15:00Z, now 10:00:03Z

       +0s              +10s            +20s
all    N-----
sms    PQSA--                                            |
email

sms    submitted
email  waiting
status in_progress
next   sms status read at 10:00:05Z, in 2s

P planned   Q queued   S submission started
A taken by the provider   | decision deadline   N accepted
`);
  });

  it.each([1, 5, 8, 20, 39, 40, 61, 80, 200])('has no line wider than %i columns', (width) => {
    const lines = drawTimeline({ ...escalated, notice: 'x'.repeat(300) }, width, START + 40_000).split('\n');
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(width);
    const painted = drawTimeline(escalated, width, START + 40_000, (text, mark) => `<${mark}>${text}`);
    expect(painted.replace(/<.>/g, '')).toBe(drawTimeline(escalated, width, START + 40_000));
  });

  it('keeps every mark, in order, however little room there is', () => {
    const busy: TimelineView = { ...escalated, lanes: [{ name: 'sms', marks: marks('P0 Q0 S0 A0 o0.1 o0.2 o0.3 D600 |600 .600'), live: false, standing: '' }] };
    const lane = drawTimeline(busy, 40, START + 600_000).split('\n').find((line) => line.startsWith('sms')) ?? '';
    expect(lane.slice(7).replace(/[- ]/g, '')).toBe('PQSAoooD|.');
  });

  it('drops the oldest marks rather than the newest where a line cannot hold all', () => {
    const many: TimelineView = { ...escalated, lanes: [{ name: 'sms', marks: marks(`${'o1 '.repeat(60)}D2`), live: false, standing: '' }] };
    const lane = drawTimeline(many, 40, START + 3_000).split('\n').find((line) => line.startsWith('sms')) ?? '';
    expect(lane.endsWith('D')).toBe(true);
    expect(lane).toHaveLength(40);
  });

  it('keeps the newest marks in a terminal of 20 columns', () => {
    const lane = drawTimeline(escalated, 20, START + 40_000).split('\n').find((line) => line.startsWith('sms')) ?? '';
    expect(lane.slice(7).replace(/[- ]/g, '')).toBe('PQSAoooo|');
  });

  it('colours marks only where it is told to, without moving them', () => {
    const painted = drawTimeline(escalated, 80, START + 40_000, (text, mark) => `<${mark}>${text}`);
    expect(painted).toContain('<F>F');
    expect(painted.replace(/<.>/g, '')).toBe(drawTimeline(escalated, 80, START + 40_000));
  });
});
