import type { ProviderName } from '../domain/provider-answers.ts';
import type { ProviderState, ProviderStates } from '../domain/provider-state.ts';

/** A row of `provider_state` as json carries it. */
export interface ProviderRow {
  provider: ProviderName; revision: number; state: ProviderState['state']; reason: ProviderState['reason']; opened_at: string | null; closed_at: string | null;
  failures: number; probe_at: string | null; probe_attempt: string | null; probe_submission: number | null; probe_until: string | null;
}

/** All providers in one value: a handful of rows, read once per statement with whatever else it loads. */
export const PROVIDERS_COLUMN = '(SELECT json_agg(ps) FROM provider_state ps) AS providers';

const at = (text: string | null): number | null => (text === null ? null : Date.parse(text));

const toState = (row: ProviderRow): ProviderState => ({
  state: row.state, revision: row.revision, reason: row.reason, openedAt: at(row.opened_at), closedAt: at(row.closed_at), failures: row.failures,
  probeAt: at(row.probe_at),
  probe: row.probe_attempt === null ? null : { attempt: row.probe_attempt, submission: row.probe_submission, untilAt: Date.parse(row.probe_until ?? '') },
});

/** Rows as decisions read them. */
export const toProviderStates = (rows: readonly ProviderRow[]): ProviderStates => Object.fromEntries(rows.map((row) => [row.provider, toState(row)]));
