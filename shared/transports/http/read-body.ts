import type { IncomingMessage } from 'node:http';

/**
 * Reads a response to its end. By its events: to iterate over a stream costs more than a whole answer of a provider.
 *
 * @param maxBytes where the body is longer, reading stops and the connection is dropped
 * @returns the text, or null where it is too long
 * @throws where the body ends before its announced end
 */
export const readBody = (response: IncomingMessage, maxBytes: number): Promise<string | null> => new Promise((resolve, reject) => {
  const chunks: Buffer[] = [];
  let size = 0;
  let hasEnded = false;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else {
      resolve(null);
      response.destroy();
    }
  });
  response.once('end', () => {
    hasEnded = response.complete;
    if (hasEnded) resolve((chunks.length === 1 ? chunks[0] as Buffer : Buffer.concat(chunks)).toString('utf8'));
  });
  // stays attached: dropping the connection may report an error of its own
  response.on('error', reject);
  response.once('close', () => { if (!hasEnded) reject(new Error('truncated body')); });
});
