import type { QueryResultRow } from 'pg';
import type { Database, Statement } from '../../shared/ledger/database.ts';

/**
 * Carries out what writes an entry of that kind, and the first question whether it stands, and loses both answers, as where a connection breaks and
 * the next one as well.
 */
export const loseAnswers = (db: Database, kind: string): { lost: () => number } => {
  const { query } = db;
  let lost = 0;
  db.query = async <Row extends QueryResultRow>(statement: Statement, values: unknown[]): Promise<Row[]> => {
    const rows = await query<Row>(statement, values);
    const isLost = statement.name.startsWith('tocsin_append_landed') ? lost === 1 : lost === 0 && values.some((one) => Buffer.isBuffer(one) && one.includes(kind));
    if (!isLost) return rows;
    lost += 1;
    if (lost === 2) db.query = query;
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  };
  return { lost: () => lost };
};
