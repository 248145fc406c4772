import { offsetAt } from '../../shared/content/time-zones.ts';
import { eligibilityOf, sendersFor } from '../../shared/delivery/suppression.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { DEAD_LETTER_REASONS } from '../../shared/domain/dead-letter-reasons.ts';
import { retryRefusal } from '../../shared/domain/retry.ts';
import type { RetryOverrides } from '../../shared/domain/retry.ts';
import type { DeadLetterFilter, DeadLetterRecord } from '../../shared/ledger/dead-letters.ts';
import { listDeadLetters } from '../../shared/ledger/dead-letters.ts';
import type { Input, OptionSpec } from './command.ts';
import { instantOption } from './instant-option.ts';
import { UsageError } from './refusal.ts';

/** Options by which dead letters are chosen. */
export const SELECTION: Record<string, OptionSpec> = {
  channel: { value: 'C', help: 'only sms or email' },
  since: { value: 'T', help: 'only those since then: 30m, 2h, 7d, or a date such as 2026-11-29T08:00Z' },
  cause: { value: 'CODE', help: `only those with this reason code: ${DEAD_LETTER_REASONS.join(', ')}` },
};

const PAGE = 500;

const CAUSES: readonly string[] = DEAD_LETTER_REASONS;

/** An id of a dead letter. @throws UsageError where it is none. */
export const deadLetterId = (text: string): bigint => {
  if (!/^\d{1,18}$/.test(text)) throw new UsageError('ID is the number of a dead letter, as `dead-letters list` shows it', 'ID');
  return BigInt(text);
};

/** The dead letters that the command's options and its id choose. @throws UsageError naming the option at fault. */
export const filterOf = (input: Input, now: number): DeadLetterFilter => {
  const [id] = input.args;
  const channel = input.text('channel');
  const sinceAt = instantOption(input, 'since', now);
  const cause = input.text('cause');
  if (channel !== undefined && channel !== 'sms' && channel !== 'email') throw new UsageError('--channel is sms or email', '--channel');
  if (cause !== undefined && !CAUSES.includes(cause)) throw new UsageError(`--cause is one of ${CAUSES.join(', ')}`, '--cause');
  return {
    ...(id === undefined ? {} : { ids: [deadLetterId(id)] }), ...(channel === undefined ? {} : { channel }),
    ...(sinceAt === null ? {} : { sinceAt }), ...(cause === undefined ? {} : { reason: cause }),
  };
};

/** All open dead letters of a choice, the newest first. */
export const readAll = async (engine: Engine, filter: DeadLetterFilter): Promise<DeadLetterRecord[]> => {
  const found: DeadLetterRecord[] = [];
  for (;;) {
    const below = found.at(-1)?.id;
    const rows = await listDeadLetters(engine.db, filter, { limit: PAGE, ...(below === undefined ? {} : { below }) });
    found.push(...rows);
    if (rows.length < PAGE) return found;
  }
};

/** What a retry would come to now, by dead letter: null where it would be done, else why it would be refused. Loads are grouped. */
export const foreseen = async (engine: Engine, rows: readonly DeadLetterRecord[], overrides: RetryOverrides = {}): Promise<(string | null)[]> =>
  Promise.all(rows.map(async (row) => {
    const loaded = await engine.load(row.eventId);
    if (loaded === null) return 'no_such_attempt';
    const { policy } = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
    return retryRefusal(loaded.state, row.attemptKey, engine.now(), { ...overrides, eligibility: eligibilityOf(sendersFor(engine, policy), loaded), offsetAt });
  }));
