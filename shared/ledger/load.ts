import type { Database, Statement } from './database.ts';
import type { NotificationState } from '../domain/state.ts';
import type { ProviderStates } from '../domain/provider-state.ts';
import type { ProviderRow } from './provider-rows.ts';
import { PROVIDERS_COLUMN, toProviderStates } from './provider-rows.ts';
import { groupCalls } from './group-commit.ts';
import { isDatabaseAway } from './database.ts';
import type { SealedBox } from './rows.ts';
import type { StoredState } from './stored-state.ts';
import { unpackState } from './stored-state.ts';

/** A notification as a decision needs it. The boxes are null once destroyed. */
export interface Loaded {
  eventId: string;
  state: NotificationState;
  headHash: Buffer;
  locale: string;
  requestedAt: number;
  recipient: SealedBox | null;
  variables: SealedBox | null;
  /**
   * What bars its recipient. Suppressed: `channel:sender`, the sender's print in hex, or nothing for every sender. A consent taken back:
   * `channel!basis`, or nothing for every one. Throttled, where that was asked: `channel~`.
   */
  suppressed: readonly string[];
  /** Null also where there were none. */
  secrets: SealedBox | null;
  /** What was known of the providers' accounts at that instant. */
  providers?: ProviderStates;
  /** For the metrics alone. */
  region?: string;
}

/** What was loaded, as it is after an append, or with what is known of the providers by now. */
export const loadedWith = (l: Loaded, { state, headHash, providers }: Pick<Loaded, 'state' | 'headHash' | 'providers'>): Loaded => ({
  eventId: l.eventId, state, headHash, locale: l.locale, requestedAt: l.requestedAt, region: l.region, recipient: l.recipient, variables: l.variables, suppressed: l.suppressed,
  secrets: l.secrets, providers,
});

interface Row {
  event_id: string; state: StoredState; head_hash: Buffer; locale: string; requested_at: Date; region: string;
  recipient_key: string | null; recipient_box: Buffer | null; variables_key: string | null; variables_box: Buffer | null;
  suppressed: string[];
  secrets_key: string | null; secrets_box: Buffer | null;
  providers: ProviderRow[] | null;
}

/** What of a recipient is suppressed, and which consents were taken back, as `Loaded` has it; `from` names tenant and fingerprints. Two probes each of one index. */
export const suppressedOf = (from: { tenant: string; sms: string; email: string }): string => `ARRAY(
    SELECT x.channel || ':' || encode(x.sender_print, 'hex') FROM suppression x
     WHERE x.removed_at IS NULL AND x.address_print IN (${from.sms}, ${from.email}) AND x.tenant = ${from.tenant}
       AND x.address_print = CASE x.channel WHEN 'sms' THEN ${from.sms} ELSE ${from.email} END
    UNION ALL
    SELECT y.channel || '!' || y.basis FROM consent_withdrawal y
     WHERE y.restored_at IS NULL AND y.address_print IN (${from.sms}, ${from.email}) AND y.tenant = ${from.tenant}
       AND y.address_print = CASE y.channel WHEN 'sms' THEN ${from.sms} ELSE ${from.email} END)`;

export const LOADED_COLUMNS = `s.event_id, s.state, s.head_hash, n.locale, n.requested_at, n.region, r.key_id AS recipient_key, r.box AS recipient_box,
  p.key_id AS variables_key, p.box AS variables_box, q.key_id AS secrets_key, q.box AS secrets_box,
  ${suppressedOf({ tenant: 'n.tenant', sms: 'r.sms_print', email: 'r.email_print' })} AS suppressed, ${PROVIDERS_COLUMN}`;
const part = (name: string): string => `LATERAL (SELECT x.key_id, x.box FROM sealed_payload x WHERE x.event_id = s.event_id AND x.part = '${name}' OFFSET 0)`;
// OFFSET keeps each of them one look by key for every row of `s`, whatever the planner takes their number for; a plain join may read the whole table.
export const LOADED_JOINS = `JOIN LATERAL (SELECT x.tenant, x.locale, x.requested_at, x.region FROM notification x WHERE x.event_id = s.event_id OFFSET 0) n ON true
  LEFT JOIN LATERAL (SELECT x.key_id, x.box, x.sms_print, x.email_print FROM recipient x WHERE x.event_id = s.event_id OFFSET 0) r ON true
  LEFT JOIN ${part('variables')} p ON true
  LEFT JOIN ${part('secrets')} q ON true`;

const LOAD: Statement = {
  name: 'tocsin_load_v5',
  fixedPlan: true,
  text: `SELECT ${LOADED_COLUMNS} FROM notification_state s ${LOADED_JOINS} WHERE s.event_id = ANY($1::text[])`,
};

const boxOf = (keyId: string | null, box: Buffer | null): SealedBox | null => (keyId === null || box === null ? null : { keyId, box });

export const toLoaded = (row: Row): Loaded => ({
  eventId: row.event_id, state: unpackState(row.state), headHash: row.head_hash, locale: row.locale, requestedAt: row.requested_at.getTime(), region: row.region,
  recipient: boxOf(row.recipient_key, row.recipient_box), variables: boxOf(row.variables_key, row.variables_box),
  suppressed: row.suppressed,
  secrets: boxOf(row.secrets_key, row.secrets_box),
  providers: toProviderStates(row.providers ?? []),
});
export type { Row as LoadedRow };

/** Loads one notification; null where there is none. Loads asked for at the same time share one statement. */
export type Loader = (eventId: string) => Promise<Loaded | null>;

/** The grouped loader of a process. */
export const createLoader = (db: Database): Loader => groupCalls<string, Loaded | null>({
  run: async (eventIds) => {
    const rows = await db.query<Row>(LOAD, [eventIds]);
    const found = new Map(rows.map((row) => [row.event_id, toLoaded(row)]));
    return eventIds.map((eventId) => found.get(eventId) ?? null);
  },
  keyOf: (eventId) => eventId,
  maxGroup: 200,
  retryAlone: (error) => !isDatabaseAway(error),
  lanes: 2,
  paceMs: 2,
});
