import type { PublicKey } from '../security/signing-key.ts';
import { isSigned } from './checkpoint.ts';
import { readMarks } from './checkpoint-read.ts';
import type { Asker, Mark } from './checkpoint-read.ts';
import type { Link } from './checkpoint-genuine.ts';

/** Rows looked at in one call, each: beyond the newest genuine one, and on the round through the whole table. */
const EACH = 200;
/** Told forgeries that are remembered; a flood of more is told again by later rounds, rather than fill the memory. */
const REMEMBERED = 10_000;

export interface CheckpointPatrol {
  /** Numbers of forged rows that were not told before. Reads at most a few hundred rows without their texts. */
  look: (asker: Asker, newest: Pick<Link, 'sequence'> | null) => Promise<number[]>;
}

/**
 * Looks for rows that no key signed, or that are copies of a genuine one under another number: at once where they stand beyond the
 * newest genuine one, in time everywhere else, by going round the table a piece at a time: what it costs does not grow with it.
 */
export const openCheckpointPatrol = (keys: readonly PublicKey[]): CheckpointPatrol => {
  const told = new Set<string>();
  let place: { exact: string; signature: Buffer } | undefined;
  const isNew = (mark: Mark): boolean => {
    const name = `${mark.exact} ${mark.signature.toString('base64url')}`;
    if (told.has(name)) return false;
    if (told.size < REMEMBERED) told.add(name);
    return true;
  };
  const some = async (asker: Asker, after: typeof place): Promise<Mark[]> => {
    const marks: Mark[] = [];
    for await (const mark of readMarks(asker, after === undefined ? {} : { after })) if (marks.push(mark) === EACH) break;
    return marks;
  };
  return {
    look: async (asker, newest) => {
      const beyond = await some(asker, { exact: String(newest?.sequence ?? 0), signature: Buffer.alloc(65, 0xff) });
      const round = await some(asker, place);
      place = round.length < EACH ? undefined : round.at(-1);
      const within = round.filter((mark) => !mark.linked || !isSigned({ ...mark, body: '' }, keys));
      return [...beyond, ...within].filter(isNew).map((mark) => mark.sequence);
    },
  };
};
