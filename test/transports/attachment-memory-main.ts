// Sends many messages at once, each with a large report, and says what the process's memory came to. Started by attachment-memory.test.ts.
import { setTimeout as wait } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import { composeMail } from '../../shared/content/mime.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { createSmtpTransport } from '../../shared/transports/smtp/client.ts';

const [url = '', dir = '', count = '1', size = '1'] = process.argv.slice(2);
const bytes = Number(size);
const store = createFileArtifactStore(dir, parseKeyRing(generateKeyRingText()));
const place = { tenant: 'acme', artifact: 'art_1' };
const source = async function* () {
  for (let left = bytes; left > 0; left -= 65_536) yield randomBytes(Math.min(left, 65_536));
};
const stored = await store.put(place, source(), bytes);
const transport = createSmtpTransport({ url, timeoutMs: 300_000, maxConnections: Number(count) });
const attemptKey = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.email.1';
const { mime, places } = composeMail({
  from: { name: 'Tocsin', address: 'b@example.com' }, to: 'a@example.com', subject: 'report', text: 'x', html: 'x', attemptKey, plannedAt: 0,
  attachments: [{ fileName: 'report.pdf', type: 'application/pdf' }],
});
const message = { channel: 'email' as const, to: 'a@example.com', from: 'b@example.com', mime, attachments: [{ artifact: place.artifact, sha256: stored.sha256, bytes, at: places[0] as number }] };

globalThis.gc?.();
await wait(200);
const idle = process.memoryUsage.rss();
let peak = idle;
const watch = setInterval(() => { peak = Math.max(peak, process.memoryUsage.rss()); }, 10);
const results = await Promise.all(Array.from({ length: Number(count) }, () => transport.submit({ attemptKey, message, mayStart: () => true, openArtifact: () => store.open(place, stored) })));
clearInterval(watch);
await transport.close();
process.stdout.write(`${JSON.stringify({ idle, peak, sha256: stored.sha256, kinds: [...new Set(results.map(({ kind }) => kind))] })}\n`);
