import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const module = new URL('../../shared/telemetry/run-until-signal.ts', import.meta.url).href;
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a service of these lines; tells what it said and how it ended, with SIGTERM as soon as it said `begun`. */
const service = async (start: string): Promise<{ said: string; code: number | null; signal: string | null }> => {
  const script = `import { startOrExplain } from '${module}'; await startOrExplain(${start});`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const hear = (chunk: Buffer): void => {
    said += chunk.toString();
    if (said === 'begun\n') child.kill('SIGTERM');
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const [code, signal] = await once(child, 'close') as [number | null, string | null];
  return { said, code, signal };
};

describe('a service that is told to end', () => {
  test('while it starts, undoes what it began once it can, and ends well', async () => {
    const start = `() => new Promise((resolve) => {
      process.once('SIGTERM', () => resolve(async () => { process.stdout.write('closed\\n'); }));
      setInterval(() => undefined, 1000);
      setImmediate(() => process.stdout.write('begun\\n'));
    })`;
    expect(await service(start)).toEqual({ said: 'begun\nclosed\n', code: 0, signal: null });
  });

  test('ends with 1 and one readable line where it cannot start', async () => {
    expect(await service(`async () => { throw new Error('DATABASE_URL is not set'); }`)).toEqual({ said: 'DATABASE_URL is not set\n', code: 1, signal: null });
  });
});
