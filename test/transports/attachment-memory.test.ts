import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { listen } from './http-server.ts';

const MB = 1024 * 1024;
const COUNT = 50;
const BYTES = 20 * MB;

/** A mail server that takes no message further than its beginning until all of them have begun, and keeps nothing of them. */
const startGatedServer = async () => {
  const received: { bytes: number; sha256: string }[] = [];
  let begun = 0;
  let open: () => void = () => undefined;
  const allBegun = new Promise<void>((resolve) => { open = resolve; });
  const server = new SMTPServer({
    authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'], size: 100 * MB, disableReverseLookup: true, socketTimeout: 300_000,
    onData: (stream, _session, done) => {
      const read = async (): Promise<void> => {
        const hash = createHash('sha256');
        let bytes = 0;
        for await (const chunk of stream as AsyncIterable<Buffer>) {
          if (bytes === 0 && (begun += 1) === COUNT) open();
          await allBegun;
          hash.update(chunk);
          bytes += chunk.length;
        }
        received.push({ bytes, sha256: hash.digest('hex') });
        done();
      };
      read().catch(done);
    },
  });
  const port = await listen(server.server);
  return { url: `smtp://127.0.0.1:${port}`, received, address: server.server.address() as AddressInfo, close: () => new Promise<void>((resolve) => server.close(resolve)) };
};

describe('fifty reports of 20 MB under way at once', () => {
  let server: Awaited<ReturnType<typeof startGatedServer>>;
  let dir: string;
  beforeAll(async () => {
    server = await startGatedServer();
    dir = await mkdtemp(join(tmpdir(), 'attachment-memory-'));
  });
  afterAll(async () => {
    await server.close();
    await rm(dir, { recursive: true });
  });

  it('take a worker no more than 150 MB above idle, and all arrive alike', async () => {
    const main = fileURLToPath(new URL('./attachment-memory-main.ts', import.meta.url));
    const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', main, server.url, dir, String(COUNT), String(BYTES)], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => { text += chunk.toString(); });
    const [code] = await once(child, 'close') as [number];
    expect(code).toBe(0);
    const { idle, peak, kinds } = JSON.parse(text) as { idle: number; peak: number; kinds: string[] };
    expect(kinds).toEqual(['accepted']);
    expect(server.received).toHaveLength(COUNT);
    expect(new Set(server.received.map(({ sha256 }) => sha256)).size).toBe(1);
    expect(server.received[0]?.bytes).toBeGreaterThan(BYTES * 4 / 3);
    const above = (peak - idle) / MB;
    process.stdout.write(`idle ${(idle / MB).toFixed(0)} MB, peak ${above.toFixed(0)} MB above it\n`);
    expect(above).toBeLessThan(150);
  }, 300_000);
});
