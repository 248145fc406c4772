/** What a recipient can ask for by a word. */
export type OptOutWord = 'stop' | 'start';

/** Words of the carriers, each as the whole message (source: docs/suppression.md). */
const WORDS: ReadonlyMap<string, OptOutWord> = new Map([
  ...['STOP', 'UNSUBSCRIBE', 'END', 'QUIT', 'STOPALL', 'REVOKE', 'OPTOUT', 'CANCEL'].map((word) => [word, 'stop'] as const),
  ...['START', 'UNSTOP'].map((word) => [word, 'start'] as const),
]);
const LONGEST = 40;

/** The word that a message is, whatever its case and spaces, and with quotes or an end mark around it; null for any other text. */
export const optOutWordOf = (text: string): OptOutWord | null => {
  if (text.length > LONGEST) return null;
  return WORDS.get(text.replace(/\s+/g, '').replace(/^["'“‘]+|["'”’.!]+$/g, '').toUpperCase()) ?? null;
};
