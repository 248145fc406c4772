const LINE = 76;

const CR = 0x0d;
const LF = 0x0a;
const EQUALS = 0x3d;
const HEX = Buffer.from('0123456789ABCDEF', 'latin1');

/** Whether a byte stands for itself where nothing special holds. */
const isPlain = (byte: number): boolean => (byte >= 0x20 && byte <= 0x7e && byte !== EQUALS) || byte === 0x09;

/** The bytes of one character stay together on a line, for readers that decode line by line. */
const unitLength = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);

/**
 * Quoted-printable (RFC 2045, 6.7) that gives back every byte: a pair CR LF is a line break, a lone CR or LF is data (`=0D`,
 * `=0A`), space and tab at the end of a line are written as codes. Lines hold at most 76 characters and end in CRLF. A dot or
 * `From ` at the start of a line is coded too, since relays rewrite them.
 */
export const encodeQuotedPrintable = (text: string): string =>
  text.split('\r\n').map((line) => (STANDS_FOR_ITSELF.test(line) ? line : encodeLine(line))).join('\r\n');

/** Short printable ASCII without `=`, and nothing fragile at its begin or end: most lines of most messages. */
const STANDS_FOR_ITSELF = /^(?![.F])[\x20-\x3c\x3e-\x7e\t]{0,75}(?<![ \t])$/;

const encodeLine = (text: string): string => {
  const bytes = Buffer.from(text, 'utf8');
  // At most three characters for a byte, and three more for each soft break.
  const out = Buffer.allocUnsafe(bytes.length * 3 + Math.ceil(bytes.length / 20) * 3);
  let written = 0;
  /** Characters on the line so far. */
  let used = 0;
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] as number;
    const next = at + unitLength(byte);
    const isFragile = (used === 0 && (byte === 0x2e || byte === 0x46)) || ((byte === 0x20 || byte === 0x09) && next === bytes.length);
    const stands = isPlain(byte) && !isFragile;
    const width = stands ? 1 : 3 * (next - at);
    // One place is kept for the `=` of a soft break.
    if (used + width > LINE - 1) {
      for (const one of [EQUALS, CR, LF]) out[written++] = one;
      used = 0;
      // What would now start a line may need its code after all: look at it again.
      continue;
    }
    used += width;
    if (stands) out[written++] = byte;
    for (; !stands && at < next; at += 1) {
      const coded = bytes[at] as number;
      out[written++] = EQUALS;
      out[written++] = HEX[coded >> 4] as number;
      out[written++] = HEX[coded & 0xf] as number;
    }
    at = next;
  }
  return out.toString('latin1', 0, written);
};
