// Jest on native ES modules; arguments go through.
import { spawnSync } from 'node:child_process';

const jest = spawnSync(process.execPath, ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(jest.status ?? 1);
