import type { Database, Statement } from './database.ts';
import type { SealedBox } from './rows.ts';

/** Boxes with what people wrote: beside the entries of these versions, and with the close. What was destroyed is not among them. */
export interface OperatorWords { byVersion: Map<number, SealedBox[]>; close: SealedBox | null }

// Beside an entry lies its person's sentence, or a provider's answer: whoever opens it tells them apart.
const WORDS: Statement = {
  name: 'tocsin_operator_words_v1',
  text: `
SELECT o.version, o.key_id AS "keyId", o.box FROM observation_raw o WHERE o.event_id = $1 AND o.version = ANY($2::integer[]) AND o.box IS NOT NULL
UNION ALL
SELECT 0, p.key_id, p.box FROM sealed_payload p WHERE p.event_id = $1 AND p.part = 'operator_text' AND p.box IS NOT NULL`,
};

/** Reads the sealed words that lie beside these entries of a notification, and those of its close; by keys alone. */
export const readOperatorWords = async (db: Database, eventId: string, versions: readonly number[]): Promise<OperatorWords> => {
  const rows = await db.query<SealedBox & { version: number }>(WORDS, [eventId, versions]);
  const byVersion = new Map<number, SealedBox[]>();
  for (const { version, keyId, box } of rows) if (version > 0) byVersion.set(version, [...byVersion.get(version) ?? [], { keyId, box }]);
  const close = rows.find(({ version }) => version === 0);
  return { byVersion, close: close ? { keyId: close.keyId, box: close.box } : null };
};
