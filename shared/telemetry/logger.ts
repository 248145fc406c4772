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
