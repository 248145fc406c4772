import { expect, test } from '@jest/globals';
import { historyMain } from '../../bench/history/history-main.ts';
import type { Cost } from '../../bench/history/meter.ts';
import { compare, missed, tableOf } from '../../bench/history/report.ts';
import { TASKS } from '../../bench/history/rounds.ts';

const cost = (wallMs: number, cpuMs: number | null = wallMs / 2): Cost => ({ operations: 10, wallMs, cpuMs, pages: 100, walBytes: 1_000 });
const measured = (change: Partial<Record<string, [Cost[], Cost[]]>>) => new Map(TASKS.map(({ name }) => [name, change[name] ?? [[cost(10)], [cost(11)]]]));

test('the median round counts, for each operation, and a larger history may cost a fifth more', () => {
  const rows = compare(measured({ intake: [[cost(10), cost(500), cost(20)], [cost(24), cost(1), cost(1_000)]] }));
  expect(rows.find((row) => row.task === 'intake')).toMatchObject({ small: { wallMs: 2, cpuMs: 1 }, large: { wallMs: 2.4 }, ratio: { wall: 1.2 } });
  expect(missed(rows)).toEqual([]);
});

test('what costs more is named, by time and by the server\'s processor time, where the system tells that', () => {
  const slower = compare(measured({ intake: [[cost(10, 1)], [cost(10, 2)]], relay: [[cost(10, null)], [cost(13, null)]] }));
  expect(missed(slower)).toEqual(['intake: 2.00 times the server\'s processor time', 'relay: 1.30 times the time']);
  expect(tableOf(slower, { settled: [50_000, 1_000_000] }).join('\n')).toMatch(/50,000 settled +1,000,000 settled +ratio[^]*intake, accept +ms +1\.000 +1\.000 +1\.00\n +ms of the server's CPU +0\.100 +0\.200 +2\.00 +> 1\.2/);
});

test('an option or a size that makes no sense is answered with the usage', async () => {
  expect(await historyMain(['--help'])).toBe(0);
  for (const argv of [['--nonsense'], ['--settled', '10,5'], ['--settled', 'x'], ['--rounds', '0']]) expect(await historyMain(argv)).toBe(2);
});
