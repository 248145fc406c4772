import { canonicalText } from './canonical.ts';
import { hexHash } from './chain-hash.ts';
import { takeRandom } from './random-bytes.ts';

/**
 * The ledger's commitment to a recipient that it must not name: sha-256 (hex) over the RFC 8785 text of
 * `{recipient, salt}`. The salt lies with the erasable row: once both are gone, the commitment tells nothing, and while they
 * exist it proves who was meant.
 */
export const commitTo = (recipient: unknown, salt: string): string =>
  hexHash(canonicalText({ recipient, salt }));

/** A fresh salt of 256 bits, hex: addresses are few enough to be guessed without one. */
export const generateSalt = (): string => takeRandom(32).toString('hex');
