/** A value with no canonical JSON. The message holds the path, never the value. */
export class NotCanonicalError extends Error {
  override readonly name = 'NotCanonicalError';
}

const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Where a value stands; spelt out only where it is refused. */
interface Place { within: Place | null; member: string | number }
const told = (place: Place | null): string => (place === null ? 'value' : `${told(place.within)}${typeof place.member === 'number' ? `[${place.member}]` : `.${place.member}`}`);

/** Nearly every text is plain ASCII without a quote, a backslash or a control character: it stands for itself. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** Null where the text holds half a surrogate pair. */
const textOf = (text: string): string | null => {
  if (PLAIN.test(text)) return `"${text}"`;
  return /\p{Surrogate}/u.test(text) ? null : JSON.stringify(text);
};

const refuse = (what: string): never => { throw new NotCanonicalError(what); };

/** So many keys are sorted here by insertion: the library's sort costs more to begin with than most objects have keys. */
const FEW_KEYS = 32;

/** The keys in the order of their UTF-16 code units, which is what RFC 8785 asks for and how texts compare. */
const sortedKeys = (value: object): string[] => {
  const keys = Object.keys(value);
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] as string;
    let to = index;
    for (; to > 0 && (keys[to - 1] as string) > key; to -= 1) keys[to] = keys[to - 1] as string;
    keys[to] = key;
  }
  return keys;
};

/** Keys as they are written: the same few names everywhere. The bound is for names that callers make up. */
const keyTexts = new Map<string, string>();
const MOST_KEYS = 1_000;

const keyTextOf = (key: string, place: Place | null): string => {
  const known = keyTexts.get(key);
  if (known !== undefined) return known;
  const text = `${textOf(key) ?? refuse(`a key of ${told(place)} holds half a surrogate pair`)}:`;
  if (keyTexts.size >= MOST_KEYS) keyTexts.clear();
  keyTexts.set(key, text);
  return text;
};

const membersOf = (value: Record<string, unknown>, place: Place | null): string => {
  let text = '';
  for (const key of sortedKeys(value)) text += `${text === '' ? '' : ','}${keyTextOf(key, place)}${serialized(value[key], place, key)}`;
  return `{${text}}`;
};

const at = (within: Place | null, member: string | number | null): Place | null => (member === null ? within : { within, member });

// Two different values must never share one text: what JSON would drop or write as something else is refused.
// The place of a value is put together only where it holds others, or is refused.
const serialized = (value: unknown, within: Place | null, member: string | number | null): string => {
  switch (typeof value) {
    case 'string': return textOf(value) ?? refuse(`${told(at(within, member))} holds half a surrogate pair`);
    case 'boolean': return value ? 'true' : 'false';
    case 'number':
      return Number.isFinite(value) ? String(value) : refuse(`${told(at(within, member))} is not a finite number`);
    case 'object': {
      if (value === null) return 'null';
      const place = at(within, member);
      if (Array.isArray(value)) {
        let text = '';
        for (let index = 0; index < value.length; index += 1) text += `${index === 0 ? '' : ','}${serialized(value[index], place, index)}`;
        return `[${text}]`;
      }
      return isPlainObject(value) ? membersOf(value as Record<string, unknown>, place) : refuse(`${told(place)} is not a plain object, which JSON does not have`);
    }
    default: return refuse(`${told(at(within, member))} is ${typeof value}, which JSON does not have`);
  }
};

/**
 * The canonical JSON text of a value (RFC 8785): the one text that hashes are taken of. Written here in one pass over the value: a package
 * and a check beside it took two, and every entry, intent and message is hashed.
 * @throws NotCanonicalError on undefined (also as a member), NaN, Infinity, bigint, functions, dates and other class
 * instances, and on lone surrogates (RFC 8785, 3.2.2.2).
 */
export const canonicalText = (value: unknown): string => serialized(value, null, null);
