import type { CliConfig } from '../../shared/config/cli-config.ts';
import { readKeysText } from '../../shared/config/cli-config.ts';
import { CHECKPOINT_PURPOSE } from '../../shared/ledger/checkpoint.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import type { KeyRing } from '../../shared/security/key-ring.ts';
import type { PublicKey } from '../../shared/security/signing-key.ts';
import { publicKeysOf, readPublicKey } from '../../shared/security/signing-key.ts';
import type { Io } from './io.ts';
import { UsageError } from './refusal.ts';

export interface LedgerKeys {
  /** Null where the secrets of the deployment are not at hand: an auditor has none. */
  ring: KeyRing | null;
  /** By which signatures are checked; null where none is known. */
  publicKeys: PublicKey[] | null;
}

const ringOf = (io: Io, config: CliConfig): KeyRing | null => {
  let text: string;
  try {
    text = readKeysText(io.env, config);
  } catch (error) {
    if ((error as Error).name === 'ConfigurationError') return null;
    throw error;
  }
  return parseKeyRing(text);
};

/** The deployment's keys, as far as they are known here, and the public ones that were given. @throws UsageError. */
export const readLedgerKeys = (io: Io, config: CliConfig, given: readonly string[] = []): LedgerKeys => {
  const added = given.map((text) => {
    const key = readPublicKey(text);
    if (!key) throw new UsageError('--public-key must be 43 characters of base64url, as `ledger verify --json` of the deployment shows them', '--public-key');
    return key;
  });
  const ring = ringOf(io, config);
  const publicKeys = [...(ring ? publicKeysOf(ring, CHECKPOINT_PURPOSE) : []), ...added];
  return { ring, publicKeys: publicKeys.length > 0 ? publicKeys : null };
};
