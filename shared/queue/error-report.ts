import { asError, type ReportError } from './work-job.ts';

const REPEAT_AFTER_MS = 5_000;
const REMEMBERED = 200;

/**
 * Passes errors on, but the same text from the same place at most once in five seconds: a connection shared by all queues
 * tells each of them of its loss, and a worker says so again at every try.
 */
export const thriftyReport = (onError: ReportError): ((thrown: unknown, where: string) => void) => {
  const reportedAt = new Map<string, number>();
  return (thrown, where) => {
    const error = asError(thrown);
    const key = `${where}\n${error.message}`;
    const now = performance.now();
    const last = reportedAt.get(key);
    if (last !== undefined && now - last < REPEAT_AFTER_MS) return;
    if (reportedAt.size >= REMEMBERED) reportedAt.clear();
    reportedAt.set(key, now);
    onError(error, where);
  };
};
