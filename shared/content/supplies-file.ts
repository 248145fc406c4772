import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readYamlFile, shownPath } from './yaml-file.ts';
import type { At, FileProblem } from './yaml-file.ts';
import { variableName } from './policy-terms.ts';

/** `supplies.yaml` beside the policies; its JSON schema is published under `docs/schemas`. */
export const suppliesSchema = z.record(z.string(), z.array(variableName).min(1, 'must name at least one variable'))
  .describe('Per purpose, the variables that whoever hands over a notification of it gives, where its policy does not say so itself');

/** What purposes supply beside their policies, and the file that says so. */
export interface Supplies { of: Readonly<Record<string, readonly string[]>>; file: string; at: At }

/** Reads `<dir>/supplies.yaml`; without one nothing is known but what the policies say. */
export const readSupplies = (dir: string): { supplies: Supplies | null; problems: FileProblem[] } => {
  const path = join(dir, 'supplies.yaml');
  if (!existsSync(path)) return { supplies: null, problems: [] };
  const read = readYamlFile(path, suppliesSchema, dir);
  return read.ok ? { supplies: { of: read.value, file: shownPath(dir, path), at: read.at }, problems: [] } : { supplies: null, problems: read.problems };
};

/** Purposes that it names and no policy has: what was meant for another is not checked, and nobody would see. */
export const checkSuppliesOf = ({ of, at }: Supplies, purposes: ReadonlySet<string>): FileProblem[] => Object.keys(of).filter((purpose) => !purposes.has(purpose))
  .map((purpose) => at([purpose], `is the purpose of no policy here; correct its name, or remove it`, 'unknown_purpose'));
