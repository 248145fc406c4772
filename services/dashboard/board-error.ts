import { isDatabaseAway } from '../../shared/ledger/database.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { logDefect } from './defects.ts';

/** As the board's own page reads an error: a key that it has words for, and ours. */
interface BoardError { status: 400 | 500; body: { error: { key: 'ERRORS.INVALID_REQUEST_BODY' | 'ERRORS.INTERNAL_SERVER_ERROR' }; message: string } }

const unreadable = (said: number): string => {
  if (said === 413) return 'The body of this call is too long.';
  return said === 415 ? 'The body of this call has to be UTF-8, as it is or in gzip, deflate or br.' : 'The body of this call is not valid JSON. Correct it and send it again.';
};

const failed = (message: string): BoardError => ({ status: 500, body: { error: { key: 'ERRORS.INTERNAL_SERVER_ERROR' }, message } });

/** What the board answers where a call fails. Its own answer repeats the error's message, which may quote what was sent; and it logs nothing. */
export const boardError = (log: Logger) => (error: Error): BoardError => {
  const said = (error as { status?: unknown }).status;
  if (typeof said === 'number' && said >= 400 && said < 500) return { status: 400, body: { error: { key: 'ERRORS.INVALID_REQUEST_BODY' }, message: unreadable(said) } };
  if (isDatabaseAway(error)) return failed('The ledger cannot be reached. Try again in a few seconds.');
  return failed(`Something failed on our side. It was noted, under request ${logDefect(log, error)}.`);
};
