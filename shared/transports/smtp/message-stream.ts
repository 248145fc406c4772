import { Readable } from 'node:stream';

const CHUNK_BYTES = 16 * 1024;

/**
 * A message that is read as it is sent. When reading fails the stream neither ends nor fails: an end would become the final dot, so
 * `onBroken` must end the connection.
 */
export const streamedMessage = (pieces: AsyncGenerator<Buffer>, { onEndReleased, onBroken }: { onEndReleased: () => void; onBroken: (error: unknown) => void }): Readable => new Readable({
  highWaterMark: CHUNK_BYTES,
  read() {
    pieces.next().then(({ done, value }) => {
      if (!done) return void this.push(value);
      onEndReleased();
      this.push(null);
    }, onBroken);
  },
  destroy(error, done) {
    pieces.return(undefined).then(() => done(error), () => done(error));
  },
});

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
