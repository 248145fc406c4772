import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { readCliConfig } from '../../shared/config/cli-config.ts';
import { readTransportNames } from '../../shared/config/engine-config.ts';
import { inOrder, lintContent } from '../../shared/content/lint.ts';
import type { Linted } from '../../shared/content/lint.ts';
import { checkPublished } from '../../shared/content/published-check.ts';
import type { PublishedVersion } from '../../shared/content/published-check.ts';
import type { FileProblem } from '../../shared/content/yaml-file.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import type { Input } from './command.ts';
import type { Io } from './io.ts';
import type { Read } from './optional-database.ts';
import { Refusal } from './refusal.ts';

export interface Folders { policyDir: string; templateDir: string }
type Kind = 'policies' | 'templates';

/** What was named on the command line; later on the variables of the deployment would be named as its source. @throws Refusal. */
const refuseNoFolder = (dir: string, { field, cure }: { field: string; cure: string }): void => {
  if (!existsSync(dir)) throw new Refusal(`the folder ${dir} is not there`, { code: 'no_such_folder', field, cure });
  if (!statSync(dir).isDirectory()) throw new Refusal(`${dir} is a file, and no folder`, { code: 'not_a_folder', field, cure: `${cure}: versions are read together, to see whether they fit` });
};

/**
 * Where policies and templates lie: DIR, if one was given, is either the folder of that kind or one that holds `policies` or `templates`;
 * the other is an option, else beside it, else what the deployment uses.
 * @throws Refusal where DIR or the option's folder is not there or no folder, or DIR holds the other kind alone.
 */
export const foldersOf = (input: Input, io: Io, kind: Kind): Folders => {
  const { policyDir, templateDir } = readCliConfig(io.env);
  const deployed: Record<Kind, string> = { policies: policyDir, templates: templateDir };
  const [dir] = input.args;
  if (dir !== undefined) refuseNoFolder(dir, { field: 'DIR', cure: `name a folder of ${kind}, or one that holds it` });
  const parent = dir === undefined ? null : existsSync(join(dir, 'policies')) || existsSync(join(dir, 'templates')) ? dir : dirname(resolve(dir));
  if (parent !== null && parent === dir && !existsSync(join(dir, kind))) {
    throw new Refusal(`${dir} holds no folder ${kind}`, { code: 'no_such_folder', field: 'DIR', cure: `name a folder of ${kind}, or one that holds it` });
  }
  const found = (which: Kind): string => {
    const option = which === kind ? undefined : input.text(which);
    if (option !== undefined) {
      refuseNoFolder(option, { field: `--${which}`, cure: `name a folder of ${which}` });
      return option;
    }
    if (dir !== undefined && which === kind && parent !== dir) return dir;
    return parent !== null && existsSync(join(parent, which)) ? join(parent, which) : deployed[which];
  };
  return { policyDir: found('policies'), templateDir: found('templates') };
};

/** Reads both folders and holds them against each other and the transports of the deployment. */
export const lintFolders = (folders: Folders, io: Pick<Io, 'env'>): Linted => lintContent({ ...folders, carriers: carriersFor(readTransportNames(io.env)) });

/** Every fault there is to tell, for whoever lints: those of the files, and those that only a database shows, where one was read. */
export const problemsOf = (linted: Linted, published: Read<readonly PublishedVersion[]>): FileProblem[] => inOrder([...linted.problems, ...checkPublished(linted, published.value ?? [])]);

/** The path of a file as it can be opened from here. */
export const openablePath = (problem: FileProblem, { policyDir, templateDir }: Folders): string => {
  const within = [policyDir, templateDir].find((dir) => problem.file.startsWith(`${resolve(dir).split(/[\\/]/).at(-1)}/`));
  return within === undefined ? problem.file : join(relative(process.cwd(), dirname(resolve(within))), problem.file);
};
