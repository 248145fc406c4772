/** Most characters of a person's reason. */
export const LONGEST_REASON = 500;

const HALF_PAIR = /\p{Surrogate}/u;
/** Spaces, controls and what Unicode draws as nothing; the blank of Braille is a symbol, and yet nothing to read. */
const UNSEEN = /^[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether there is nothing to see in a text: spaces, line breaks and characters without width only. */
export const isBlank = (text: string): boolean => UNSEEN.test(text);

/** What is wrong with a person's reason, wherever it is given; null where nothing is. It is kept as it came, so it must be text that Postgres holds and somebody can read. */
export const reasonFault = (text: string): string | null => {
  if (text.includes('\u0000')) return 'has a NUL character';
  if (HALF_PAIR.test(text)) return 'has half of a surrogate pair';
  if (text.length > LONGEST_REASON && [...text].length > LONGEST_REASON) return `has more than ${LONGEST_REASON} characters`;
  return isBlank(text) ? 'has nothing in it to read' : null;
};
