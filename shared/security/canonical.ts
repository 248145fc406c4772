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

const membersOf = (value: Record<string, unknown>, place: Place | null): string => {
  let text = '';
  // The default order is that of UTF-16 code units, which is what RFC 8785 asks for.
  for (const key of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ','}${textOf(key) ?? refuse(`a key of ${told(place)} holds half a surrogate pair`)}:${serialized(value[key], place, key)}`;
  }
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
