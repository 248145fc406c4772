import type { IncomingMessage } from 'node:http';

/**
 * Reads a response to its end.
 *
 * @param maxBytes where the body is longer, reading stops and the connection is dropped
 * @returns the text, or null where it is too long
 * @throws where the body ends before its announced end
 */
export const readBody = async (response: IncomingMessage, maxBytes: number): Promise<string | null> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += (chunk as Buffer).length;
    // leaving the loop destroys the response and its socket
    if (size > maxBytes) return null;
    chunks.push(chunk as Buffer);
  }
  if (!response.complete) throw new Error('truncated body');
  return Buffer.concat(chunks).toString('utf8');
};
