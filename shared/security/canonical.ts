import canonicalizeModule from 'canonicalize';

// The package is CommonJS with `export default` in its types: what arrives is the function itself.
const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined;

/** A value with no canonical JSON. The message holds the path, never the value. */
export class NotCanonicalError extends Error {
  override readonly name = 'NotCanonicalError';
}

const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** The package drops undefined members and writes holes as null; two different values must never share one text. */
const check = (value: unknown, path: string): void => {
  if (value === null || typeof value === 'boolean') return;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new NotCanonicalError(`${path} is not a finite number`);
    return;
  }
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) throw new NotCanonicalError(`${path} holds half a surrogate pair`);
    return;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) check(value[index], `${path}[${index}]`);
    return;
  }
  if (typeof value === 'object' && isPlainObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      check(key, `a key of ${path}`);
      check(member, `${path}.${key}`);
    }
    return;
  }
  throw new NotCanonicalError(`${path} is ${typeof value === 'object' ? 'not a plain object' : typeof value}, which JSON does not have`);
};

/**
 * The canonical JSON text of a value (RFC 8785): the one text that hashes are taken of.
 * @throws NotCanonicalError on undefined (also as a member), NaN, Infinity, bigint, functions, dates and other class
 * instances, and on lone surrogates (RFC 8785, 3.2.2.2).
 */
export const canonicalText = (value: unknown): string => {
  check(value, 'value');
  return canonicalize(value) as string;
};
