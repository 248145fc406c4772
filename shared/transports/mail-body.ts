import type { MessageAttachment, RenderedMessage } from '../domain/words.ts';
import type { OpenArtifact } from './transport.ts';

/** What a message carries is not there, or not what was planned; nothing more of it may be sent. */
export class BrokenAttachment extends Error {
  override readonly name = 'BrokenAttachment';
  readonly reason: 'artifact_damaged' | 'artifact_missing';
  constructor(reason: 'artifact_damaged' | 'artifact_missing') {
    super(reason);
    this.reason = reason;
  }
}

const LINE_BYTES = 57;
const LINE_CHARACTERS = 76;
/** Plain bytes that are encoded at once: whole lines. */
const BLOCK_BYTES = LINE_BYTES * 800;

/** Characters of base64 without line ends. */
export const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;
const lineEnds = (bytes: number): number => Math.max(0, Math.ceil(base64Length(bytes) / LINE_CHARACTERS) - 1) * 2;

/** Bytes regrouped into blocks of one size, the last one shorter. */
async function* blocksOf(source: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of source) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    const whole = held.length - (held.length % size);
    for (let at = 0; at < whole; at += size) yield held.subarray(at, at + size);
    held = held.subarray(whole);
  }
  if (held.length > 0) yield held;
}

const reasonOf = (error: unknown): 'artifact_damaged' | 'artifact_missing' | null => {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'artifact_damaged' || code === 'artifact_missing' ? code : null;
};

/** The plain bytes of what is attached, in blocks; exactly as many as were planned. @throws BrokenAttachment. */
async function* attachedBlocks({ artifact, sha256, bytes }: MessageAttachment, openArtifact: OpenArtifact | undefined): AsyncGenerator<Buffer> {
  if (!openArtifact) throw new BrokenAttachment('artifact_missing');
  let given = 0;
  try {
    for await (const block of blocksOf(openArtifact({ artifactId: artifact, sha256 }), BLOCK_BYTES)) {
      given += block.length;
      if (given > bytes) throw new BrokenAttachment('artifact_damaged');
      yield block;
    }
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    throw new BrokenAttachment(reason);
  }
  if (given !== bytes) throw new BrokenAttachment('artifact_damaged');
}

/** The base64 of an attachment on one line, block by block. @throws BrokenAttachment. */
export async function* base64Of(attachment: MessageAttachment, openArtifact: OpenArtifact | undefined): AsyncGenerator<Buffer> {
  for await (const block of attachedBlocks(attachment, openArtifact)) yield Buffer.from(block.toString('base64'), 'latin1');
}

/** The same in lines of 76, each block but the first beginning with the line end of the one before. */
async function* base64Lines(attachment: MessageAttachment, openArtifact: OpenArtifact | undefined): AsyncGenerator<Buffer> {
  let first = true;
  for await (const block of attachedBlocks(attachment, openArtifact)) {
    const lines = block.toString('base64').replace(/(.{76})(?=.)/g, '$1\r\n');
    yield Buffer.from(first ? lines : `\r\n${lines}`, 'latin1');
    first = false;
  }
}

export type EmailMessage = Extract<RenderedMessage, { channel: 'email' }>;

/** Bytes of the whole message, known before any of an attachment is read. The text is ASCII, so characters are bytes. */
export const mailSize = ({ mime, attachments = [] }: EmailMessage): number =>
  Buffer.byteLength(mime, 'utf8') + attachments.reduce((sum, { bytes }) => sum + base64Length(bytes) + lineEnds(bytes), 0);

/** The whole message with what is attached, piece by piece and the same on every retry. @throws BrokenAttachment before its end. */
export async function* mailPieces({ mime, attachments = [] }: EmailMessage, openArtifact: OpenArtifact | undefined): AsyncGenerator<Buffer> {
  let from = 0;
  for (const attachment of attachments) {
    yield Buffer.from(mime.slice(from, attachment.at), 'utf8');
    yield* base64Lines(attachment, openArtifact);
    from = attachment.at;
  }
  yield Buffer.from(mime.slice(from), 'utf8');
}
