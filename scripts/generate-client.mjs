// Generates the Prisma client after an install. `prisma generate` never runs the schema engine, yet the CLI insists on
// finding one; pointing it at any executable keeps the install free of downloads.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const cli = 'node_modules/prisma/build/index.js';
if (!existsSync('prisma/schema.prisma') || !existsSync(cli)) process.exit(0);
const run = spawnSync(process.execPath, [cli, 'generate', '--no-hints'], {
  stdio: ['ignore', 'pipe', 'pipe'],
  env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
});
if (run.status !== 0) {
  process.stderr.write(`prisma generate failed:\n${run.stdout}${run.stderr}`);
  process.exit(1);
}
