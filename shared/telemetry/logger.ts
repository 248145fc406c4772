import pino from 'pino';
import type { Logger as PinoLogger, DestinationStream } from 'pino';

export type Logger = PinoLogger;

export interface LoggerSettings {
  level: string;
  service: string;
  /** Paths that are never written, whatever they hold. */
  redactPaths: readonly string[];
  destination?: DestinationStream;
}

/** Structured logs, one JSON object a line. Error level means that a person must act. */
export const createLogger = (settings: LoggerSettings): Logger => {
  const options = { level: settings.level, base: { service: settings.service }, redact: { paths: [...settings.redactPaths], censor: '[redacted]' } };
  return settings.destination ? pino(options, settings.destination) : pino(options);
};

const plainLogs = new WeakMap<Logger, Logger>();

/**
 * The same log for lines that are ids, codes, instants and numbers by their making: looking through each for what must not be written cost
 * more than writing it. Never for an error, nor for anything that came from outside.
 */
export const plainLog = (log: Logger): Logger => {
  const known = plainLogs.get(log);
  if (known) return known;
  const plain = log.child({}, { redact: [] });
  plainLogs.set(log, plain);
  return plain;
};
