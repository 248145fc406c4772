import type { Channel } from '../domain/words.ts';
import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';

/** A throttle at an instant: no more than `most` begun after `since`. */
export interface ThrottleAt { channel: Channel; most: number; sinceAt: number }

/** As a parameter has it. */
export const throttleRows = (throttles: readonly ThrottleAt[]) => throttles.map(({ channel, most, sinceAt }) => ({ channel, most, since: toTimestamp(sinceAt) }));

/** The channels on which a destination has had as many as it may, `channel~`; one range of an index for each, of `most` rows. */
export const throttledOf = (from: { tenant: string; purpose: string; sms: string; email: string; throttles: string }): string => `ARRAY(
    SELECT t.channel || '~' FROM jsonb_to_recordset(${from.throttles}) AS t(channel text, most integer, since timestamptz)
     WHERE (SELECT count(*) FROM (
       SELECT 1 FROM throttled_start x
        WHERE x.address_print = CASE t.channel WHEN 'sms' THEN ${from.sms} ELSE ${from.email} END AND x.channel = t.channel AND x.tenant = ${from.tenant}
          AND x.purpose = ${from.purpose} AND x.at > t.since LIMIT t.most) c) >= t.most)`;

const THROTTLED: Statement = {
  name: 'tocsin_throttled_v1',
  fixedPlan: true,
  text: `SELECT ${throttledOf({ tenant: 'n.tenant', purpose: 'n.purpose', sms: 'r.sms_print', email: 'r.email_print', throttles: '$2::jsonb' })} AS throttled
           FROM notification n JOIN recipient r ON r.event_id = n.event_id WHERE n.event_id = $1 AND r.event_id = $1`,
};

/** On which channels the recipient of a notification has had as many of its purpose as the throttles allow, `channel~`. */
export const throttledFor = async (db: Database, eventId: string, throttles: readonly ThrottleAt[]): Promise<readonly string[]> =>
  (await db.query<{ throttled: string[] }>(THROTTLED, [eventId, JSON.stringify(throttleRows(throttles))]))[0]?.throttled ?? [];
