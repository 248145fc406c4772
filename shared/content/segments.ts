import { SegmentedMessage } from 'sms-segments-calculator';

export interface SmsSize { segments: number; encoding: 'GSM-7' | 'UCS-2' }

/**
 * Up to 160 characters of the GSM-7 base alphabet (3GPP TS 23.038) that also are ASCII: what our own texts consist of. They
 * need no counting, and counting by graphemes costs more than the rest of a render.
 */
const SHORT_AND_BASIC = /^[A-Za-z0-9 \r\n@$!"#%&'()*+,\-./:;<=>?_]{0,160}$/;

/**
 * How many segments a text costs: 160 (153) septets of GSM-7, or 70 (67) UTF-16 code units as soon as one character is not in
 * GSM-7. A single curly quote or no-break space more than halves the room.
 */
export const smsSize = (text: string): SmsSize => {
  // A CR LF pair is one grapheme to the calculator: left to it.
  if (SHORT_AND_BASIC.test(text) && text !== '' && !text.includes('\r')) return { segments: 1, encoding: 'GSM-7' };
  const counted = new SegmentedMessage(text);
  return { segments: counted.segmentsCount, encoding: counted.encodingName as SmsSize['encoding'] };
};
