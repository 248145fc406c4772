/** Why a `precondition_url` is not taken, in words for who gave it. */
export interface UrlFault { problem: string; cure: string }

const LONGEST_URL = 2_000;

const parsed = (text: string): URL | null => {
  try {
    return new URL(text);
  } catch {
    return null;
  }
};

/** What is wrong with a URL that an origin system is to be asked at; null where it may be asked. Never quotes it: it may hold an order's id or a token. */
export const preconditionUrlFault = (text: string, origins: readonly string[]): UrlFault | null => {
  if (text.length > LONGEST_URL) return { problem: `has more than ${LONGEST_URL.toLocaleString('en')} characters`, cure: 'give a shorter URL' };
  const url = parsed(text);
  // The text is compared with what would be called, so that nothing is understood otherwise than it looks.
  if (url === null || /[\s\\]|[^\x21-\x7e]/.test(text)) return { problem: 'is not a URL', cure: 'write it as https://shop.example.com/orders/4711/needs-action' };
  if (url.protocol !== 'https:') return { problem: 'is not https', cure: 'give an https URL' };
  if (url.username !== '' || url.password !== '') return { problem: 'holds a user or a password', cure: 'leave them out: the question is signed' };
  if (url.hash !== '' || text.includes('#')) return { problem: 'has a fragment', cure: 'leave out what stands behind #' };
  if (origins.length === 0) return { problem: 'cannot be asked: this deployment asks no origin system', cure: 'leave it out, or have PRECONDITION_ORIGINS set' };
  if (!origins.includes(url.origin)) return { problem: 'is not at an origin that may be asked', cure: `use one of ${origins.join(', ')}, or have PRECONDITION_ORIGINS changed` };
  return null;
};
