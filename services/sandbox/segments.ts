import { SegmentedMessage } from 'sms-segments-calculator';

// most texts of a run differ only in a reference, so plain ones are counted by their length alone
const PLAIN_GSM = /^[A-Za-z0-9 \r\n@!"#%&'()*+,\-./:;<=>?_]*$/;

/** How many segments a text takes. */
export const segmentsOf = (body: string): number => {
  if (PLAIN_GSM.test(body)) return body.length <= 160 ? 1 : Math.ceil(body.length / 153);
  return new SegmentedMessage(body).segmentsCount;
};
