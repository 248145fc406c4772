const LINE = 76;

const escaped = (byte: number): string => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;

/** How each byte is written where nothing special holds; looked up, since every render of an email comes through here. */
const WRITTEN = Array.from({ length: 256 }, (_none, byte) =>
  ((byte >= 0x20 && byte <= 0x7e && byte !== 0x3d) || byte === 0x09 ? String.fromCharCode(byte) : escaped(byte)));

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
  let out = '';
  let line = '';
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] as number;
    const length = unitLength(byte);
    const next = bytes[at + length];
    const endsLine = next === undefined;
    const isFragile = (line === '' && (byte === 0x2e || byte === 0x46)) || ((byte === 0x20 || byte === 0x09) && endsLine);
    let unit = isFragile ? escaped(byte) : WRITTEN[byte] as string;
    for (let more = 1; more < length; more += 1) unit += WRITTEN[bytes[at + more] as number] as string;
    // One place is kept for the `=` of a soft break.
    if (line.length + unit.length > LINE - 1) {
      out += `${line}=\r\n`;
      line = '';
      // What would now start a line may need its code after all: look at it again.
      continue;
    }
    line += unit;
    at += length;
  }
  return out + line;
};
