import type { Database, Statement } from './database.ts';
import type { Loaded, LoadedRow } from './load.ts';
import { LOADED_COLUMNS, LOADED_JOINS, toLoaded } from './load.ts';

// The page is a range of the primary key; the purpose only leaves rows of it out.
const CAPTURED: Statement = {
  name: 'tocsin_captured_v1',
  text: `SELECT ${LOADED_COLUMNS}
           FROM (SELECT x.event_id FROM notification x WHERE x.event_id < $1 AND x.event_id >= $2 AND x.purpose = $3 ORDER BY x.event_id DESC LIMIT $4) k
           JOIN LATERAL (SELECT x.event_id, x.state, x.head_hash FROM notification_state x WHERE x.event_id = k.event_id OFFSET 0) s ON true
           ${LOADED_JOINS}
          ORDER BY s.event_id DESC`,
};

export interface CapturedRange { purpose: string; /** Event ids: from this one on, and below that one. */ from: string; below: string }

/** The notifications of a purpose in a range of event ids, newest first, a page at a time. The boxes are null once destroyed. */
export const streamCaptured = async function* (db: Database, { purpose, from, below }: CapturedRange, page: number): AsyncGenerator<Loaded[]> {
  for (let next = below; ;) {
    const rows = await db.query<LoadedRow>(CAPTURED, [next, from, purpose, page]);
    if (rows.length > 0) yield rows.map(toLoaded);
    const last = rows.at(-1);
    if (!last || rows.length < page) return;
    next = last.event_id;
  }
};
