import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';

export interface PayloadShown { at: number; actor: string; means: string; reason: string }

const RECORD: Statement = {
  name: 'tocsin_record_payload_shown_v1',
  text: 'INSERT INTO payload_shown (event_id, at, actor, means, reason) SELECT x, $2::timestamptz, $3, $4, $5 FROM unnest($1::text[]) AS x',
};

/** Records that the texts of these notifications are about to be shown. To be waited for before they are. */
export const recordPayloadShown = async (db: Database, eventIds: readonly string[], { at, actor, means, reason }: PayloadShown): Promise<void> => {
  await db.query(RECORD, [eventIds, toTimestamp(at), actor, means, reason]);
};
