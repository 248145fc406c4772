import type { Rig } from './rig.ts';

/** How many artifacts the database knows. */
export const readCount = async (rig: Rig): Promise<number> => Number((await rig.engine.db.pool.query('SELECT count(*) AS count FROM artifact')).rows[0].count);
