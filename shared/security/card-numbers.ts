/** Shortest and longest number of a payment card (ISO/IEC 7812). */
const LEAST = 13;
const MOST = 19;

/** The check digit of ISO/IEC 7812, annex B: what is none by chance is one in ten. */
const passesLuhn = (digits: string): boolean => {
  const sum = [...digits].reduceRight((total, digit, at) => {
    const doubled = (digits.length - at) % 2 === 0 ? Number(digit) * 2 : Number(digit);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
};

const masked = (text: string, keep: number): string => {
  let left = text.replace(/\D/g, '').length - keep;
  return text.replace(/\d/g, (digit) => (left-- > 0 ? '•' : digit));
};

/** Of groups of digits that stand next to each other, the longest number of a card that begins with the first; null where none does. */
const cardAt = (groups: readonly string[]): number | null => {
  for (let count = groups.length; count > 0; count -= 1) {
    const digits = groups.slice(0, count).join('');
    if (digits.length >= LEAST && digits.length <= MOST && passesLuhn(digits)) return count;
  }
  return null;
};

/**
 * A text in which of every card number only the last four digits are left, whether it is written in one, in groups, or with hyphens. What merely looks like
 * one, such as a long order number whose check digit happens to fit, is masked too.
 */
export const maskCardNumbers = (text: string): string => text.replace(/\d+(?:[ \-.\u00a0\u2009\u202f]\d+)*/g, (run) => {
  const pieces = run.split(/([^\d])/);
  for (let at = 0; at < pieces.length; at += 2) {
    const count = cardAt(pieces.slice(at).filter((_, index) => index % 2 === 0));
    if (count === null) continue;
    const end = at + count * 2 - 1;
    masked(pieces.slice(at, end).join(''), 4).split(/([ \-.\u00a0\u2009\u202f])/).forEach((piece, index) => { pieces[at + index] = piece; });
    at = end - 1;
  }
  return pieces.join('');
});
