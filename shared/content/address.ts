import { parsePhoneNumberFromString } from 'libphonenumber-js';

/** A number is read at intake and again each time its message is made, a moment later. The next one that is read after that lets all of them go. */
const MOST_KNOWN = 500;
const KNOWN_FOR_MS = 10_000;
const known = new Map<string, string>();
let knownSince = 0;

const parsePhone = (text: string): string | null => {
  const parsed = parsePhoneNumberFromString(text.trim());
  return parsed?.isValid() ? parsed.number : null;
};

/**
 * A phone number as E.164, or null where it is not a valid number in international form (`+` and country code). Italy keeps
 * its leading 0, Argentine mobiles get their 9: what libphonenumber makes of it is the one form that is stored and compared.
 */
export const normalisePhone = (text: string): string | null => {
  // Letters would be read as keypad digits ("1-800-FLOWERS") and an extension would be dropped: neither is a recipient.
  if (text.length > 40 || !/^\s*\+[\d\s().\-/]+$/.test(text) || /[\r\n]/.test(text)) return null;
  const now = performance.now();
  if (known.size >= MOST_KNOWN || now - knownSince > KNOWN_FOR_MS) {
    known.clear();
    knownSince = now;
  }
  const before = known.get(text);
  if (before !== undefined) return before;
  const found = parsePhone(text);
  if (found !== null) known.set(text, found);
  return found;
};

const ATEXT = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const EMAIL = new RegExp(`^(${ATEXT}+(?:\\.${ATEXT}+)*)@((?:${LABEL}\\.)+(?=[A-Za-z0-9-]*[A-Za-z])${LABEL})$`);

/**
 * An email address with its domain in lower case, or null. ASCII dot-atoms with a dotted domain only: no quoted local parts,
 * no address literals, no `a@b`, no line breaks. The local part keeps its case (RFC 5321, 2.4).
 */
export const normaliseEmail = (text: string): string | null => {
  const trimmed = text.replace(/^[ \t]+|[ \t]+$/g, '');
  const match = trimmed.length <= 254 ? EMAIL.exec(trimmed) : null;
  const [, local, domain] = match ?? [];
  return local && domain && local.length <= 64 ? `${local}@${domain.toLowerCase()}` : null;
};
