import { Readable } from 'node:stream';

const CHUNK_BYTES = 16 * 1024;

/**
 * The message as the library pulls it after the server's 354, piece by piece. The final dot can only follow the end of this
 * stream, so until `onEndReleased` is called no server can have the whole message.
 */
export const messageStream = (message: Buffer, onEndReleased: () => void): Readable => {
  let offset = 0;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      if (offset < message.length) {
        this.push(message.subarray(offset, offset + CHUNK_BYTES));
        offset += CHUNK_BYTES;
        return;
      }
      onEndReleased();
      this.push(null);
    },
  });
};
