import { readErasureFile } from '../../shared/config/erasure-config.ts';
import { readKeysText } from '../../shared/config/cli-config.ts';
import type { CliConfig } from '../../shared/config/cli-config.ts';
import type { Environment } from '../../shared/config/environment.ts';
import { erasureMac, readErasureFile as readErasures } from '../../shared/ledger/erasure-file.ts';
import { listErasures } from '../../shared/ledger/erasures.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import type { Finding } from './doctor-finding.ts';
import { fault, ok } from './doctor-finding.ts';

/** Whether every erasure that database or file knows is carried out in this database. */
export const checkErasures = async (db: Database, env: Environment, config: CliConfig): Promise<Finding> => {
  const ring = parseKeyRing(readKeysText(env, config));
  const stored = await listErasures(db);
  const genuine = stored.filter((one) => erasureMac(ring, one).equals(one.mac));
  const known = new Set(genuine.map((one) => one.erasureId));
  const { erasures, unreadable } = await readErasures(readErasureFile(env), ring);
  const lacking = erasures.filter((one) => !known.has(one.erasureId)).length;
  const due = genuine.filter((one) => one.due).length + lacking;
  if (due > 0) return fault('erasures', `${due} of ${genuine.length + lacking} recorded are not carried out in this database${lacking > 0 ? ', which was restored from before them' : ''}`, 'run npx tocsin erase --reapply, or let a coordinator do it within a minute');
  const forged = stored.length - genuine.length + unreadable;
  if (forged > 0) return fault('erasures', `${forged} row(s) or line(s) are none that this deployment wrote`, 'see who may write into the table erasure and into ERASURE_FILE');
  return ok('erasures', genuine.length === 0 ? 'none recorded' : `${genuine.length} recorded, all carried out`);
};
