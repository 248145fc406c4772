import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { acquireOwnerLock, type OwnerLock } from '../../services/standalone/owner-lock.ts';

const source = new URL('../../services/standalone/owner-lock.ts', import.meta.url).href;
const onLinux = process.platform === 'linux' ? it : it.skip;

let dataDir: string;
const children: ChildProcess[] = [];

/** A process that tries for the lock once its input says so, then prints `held` or `refused` and lives on. */
const contender = (): ChildProcess => {
  const script = `import { acquireOwnerLock } from ${JSON.stringify(source)};
    process.stdout.write('up\\n');
    process.stdin.once('data', async () => {
      const lock = await acquireOwnerLock(${JSON.stringify(dataDir)});
      process.stdout.write('heldBy' in lock ? 'refused\\n' : 'held\\n');
    });`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  return child;
};

const nextLine = async (child: ChildProcess): Promise<string> => String((await once(child.stdout as NodeJS.ReadableStream, 'data') as [Buffer])[0]).trim();

const tryAll = async (rivals: ChildProcess[]): Promise<string[]> => {
  const answers = rivals.map(nextLine);
  rivals.forEach((rival) => rival.stdin?.write('go\n'));
  return Promise.all(answers);
};

const held = async (): Promise<OwnerLock> => {
  const lock = await acquireOwnerLock(dataDir);
  if ('heldBy' in lock) throw new Error(`held by ${lock.heldBy.pid}`);
  return lock;
};

beforeEach(() => { dataDir = mkdtempSync(join(tmpdir(), 'tocsin-lock-')); });

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(dataDir, { recursive: true, force: true });
});

describe('The owner lock of a data directory', () => {
  it('is refused while its owner lives, naming it and its intake, and is free after release', async () => {
    const lock = await held();
    writeFileSync(join(dataDir, 'standalone.json'), JSON.stringify({ intake: 'http://127.0.0.1:3000', api_key: 'secret' }));
    expect(await acquireOwnerLock(dataDir)).toEqual({ heldBy: { pid: process.pid, since: expect.stringMatching(/^\d{4}-.*Z$/), url: 'http://127.0.0.1:3000' } });
    await lock.release();
    rmSync(join(dataDir, 'standalone.json'));
    const again = await held();
    expect(await acquireOwnerLock(dataDir)).toEqual({ heldBy: { pid: process.pid, since: expect.any(String) } });
    await lock.release();
    expect(await acquireOwnerLock(dataDir)).toHaveProperty('heldBy');
    await again.release();
    expect(readdirSync(dataDir)).toEqual([]);
  });

  onLinux('is taken over when the owner\'s pid belongs to a later process, and when the lock is damaged', async () => {
    const lock = await held();
    const path = join(dataDir, 'owner.lock');
    const claim = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    await lock.release();
    writeFileSync(path, JSON.stringify({ ...claim, startMark: 'another-boot:1' }));
    await (await held()).release();
    writeFileSync(path, '{"pid":');
    await (await held()).release();
  });

  onLinux('goes to exactly one of many starts that find the same dead owner', async () => {
    const path = join(dataDir, 'owner.lock');
    for (let round = 0; round < 20; round += 1) {
      const dead = { pid: process.pid, since: '2026-01-01T00:00:00.000Z', startMark: 'another-boot:1', token: 'dead' };
      writeFileSync(path, JSON.stringify(dead));
      const answers = await Promise.all(Array.from({ length: 12 }, () => acquireOwnerLock(dataDir)));
      const holders = answers.filter((answer): answer is OwnerLock => !('heldBy' in answer));
      expect(holders).toHaveLength(1);
      await holders[0]?.release();
      expect(readdirSync(dataDir)).toEqual([]);
    }
  });

  it('goes to exactly one of many that start at once, also after its owner was killed, and after a taker was', async () => {
    const rivals = [contender(), contender(), contender(), contender()];
    await Promise.all(rivals.map(nextLine));
    const first = await tryAll(rivals.slice(0, 2));
    expect(first.sort()).toEqual(['held', 'refused']);
    for (const rival of rivals.slice(0, 2)) {
      rival.kill('SIGKILL');
      await once(rival, 'exit');
    }
    // As a starter leaves it that is killed between taking the right to replace and replacing.
    writeFileSync(join(dataDir, 'owner.lock.takeover'), readFileSync(join(dataDir, 'owner.lock')));
    expect((await tryAll(rivals.slice(2))).sort()).toEqual(['held', 'refused']);
  });
});
