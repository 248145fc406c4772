import { spawnSync } from 'node:child_process';
import { copyFileSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface Instruction { stage: string; name: string; rest: string }

/** The instructions of a Dockerfile, each with its stage; the last stage, which has no name, is called `runtime`. */
export const readDockerfile = (path: string): Instruction[] => {
  let stage = '';
  return readFileSync(path, 'utf8').replace(/\\\n/g, ' ').split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#')).map((line) => {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM') stage = / AS (\w+)$/.exec(rest)?.[1] ?? 'runtime';
    return { stage, name, rest };
  });
};

export interface Copy { from: string | null; sources: string[]; to: string }

export const copiesOf = (instructions: readonly Instruction[], stage: string): Copy[] => instructions.filter((one) => one.stage === stage && one.name === 'COPY').map(({ rest }) => {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) ?? null : null;
  return { from, to: words.at(-1) as string, sources: words.slice(0, -1) };
});

/** Links a file or a whole folder; the copy is read only, so that sharing its bytes is safe. */
const place = (source: string, target: string): void => {
  if (lstatSync(source).isDirectory()) {
    mkdirSync(target, { recursive: true });
    for (const name of readdirSync(source)) place(join(source, name), join(target, name));
    return;
  }
  mkdirSync(dirname(target), { recursive: true });
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
};

interface Locked { dev?: boolean; optional?: boolean; devOptional?: boolean }

/** The folders that `npm ci --omit=dev --omit=optional` would install, by the lock file. */
const productionPackages = (root: string): string[] => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> };
  return Object.entries(packages).filter(([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional).map(([path]) => path);
};

/** Only what belongs to the package itself: packages within it have entries of their own. */
const placePackage = (root: string, path: string, target: string): void => {
  for (const name of readdirSync(join(root, path))) if (name !== 'node_modules') place(join(root, path, name), join(target, path, name));
};

/**
 * Lays out in a folder what the last stage of the Dockerfile copies: sources compiled as its build stage compiles them (their types
 * are checked elsewhere), packages as its other stage installs them.
 */
export const layOutImage = (root: string, target: string): void => {
  for (const { from, sources, to } of copiesOf(readDockerfile(join(root, 'Dockerfile')), 'runtime')) {
    for (const source of sources) {
      const goal = to.endsWith('/') && (from !== null || !lstatSync(join(root, source)).isDirectory()) && !source.endsWith(`/${basename(to)}`) ? join(target, to, basename(source)) : join(target, to);
      if (from === null) place(join(root, source), goal);
      else if (from === 'dependencies') for (const path of productionPackages(root)) placePackage(root, path, target);
      else if (!readdirSync(target).includes('shared')) {
        const built = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', target], { cwd: root, encoding: 'utf8' });
        if (built.status !== 0) throw new Error(built.stdout);
      }
    }
  }
};
