/**
 * Named instants at which an audit may kill a process, to prove that nothing is lost there and nothing sent twice. Disarmed,
 * a point costs one comparison.
 */
export const FAULT_POINTS = [
  'intake-committed', 'outbox-enqueued', 'submission-started', 'bytes-sent', 'answer-received', 'fallback-claimed', 'mid-tick', 'mid-migration',
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

let armed: { point: FaultPoint; passesLeft: number } | null = null;

/** Arms a point: the process kills itself when it passes it for the n-th time. Text is `name` or `name:n`. */
export const armFaultPoint = (text: string): void => {
  const [name, count = '1'] = text.split(':');
  const point = FAULT_POINTS.find((one) => one === name);
  if (!point || !/^[1-9]\d*$/.test(count)) throw new Error(`TOCSIN_KILL_AT: one of ${FAULT_POINTS.join(', ')}, optionally with :n for the n-th pass`);
  armed = { point, passesLeft: Number(count) };
};

/** What is armed here, as text that arms it again: a thread has points of its own. Null where nothing is. */
export const armedFaultPoint = (): string | null => armed && `${armed.point}:${armed.passesLeft}`;

/** Marks a durable boundary. */
export const faultPoint = (point: FaultPoint): void => {
  if (armed === null || armed.point !== point) return;
  armed.passesLeft -= 1;
  if (armed.passesLeft === 0) process.kill(process.pid, 'SIGKILL');
};
