import { spawnSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Compiles what is measured, as the image does it: a loader of TypeScript costs a part of every call. Returns the folder of the compiled tree. */
export const buildTree = (target: string): string => {
  const built = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', join(ROOT, 'bench/tsconfig.json'), '--noCheck', '--outDir', target], { encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`not compiled: ${built.stdout}${built.stderr}`);
  for (const part of ['package.json', 'policies', 'templates', 'prisma/migrations']) cpSync(join(ROOT, part), join(target, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'));
  return target;
};
