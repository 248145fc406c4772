import { randomUUID } from 'node:crypto';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';

/** Logs a defect by its kind and where it arose, never its message, which may quote data. Returns the id under which it stands in the log. */
export const logDefect = (log: Logger, error: unknown, method?: string): string => {
  const id = randomUUID();
  const { name, stack } = (error instanceof Error ? error : {}) as Partial<Error>;
  log.error({ event: EVENTS.requestFailed, request_id: id, method, error: name, frames: stack?.split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 12) });
  return id;
};
