import { parsePhoneNumberFromString } from 'libphonenumber-js';

const DOTS = '•••••';

/** A phone number as people may see it: `+1•••••0103`. The number of dots is fixed, so it does not tell the length. */
export const maskPhone = (phone: string): string => {
  const parsed = parsePhoneNumberFromString(phone);
  const digits = phone.replace(/\D/g, '');
  if (!parsed || digits.length < 8) return DOTS;
  return `+${parsed.countryCallingCode}${DOTS}${digits.slice(-4)}`;
};

/** An email address as people may see it: `o•••@example.com`. */
export const maskEmail = (email: string): string => {
  const at = email.lastIndexOf('@');
  if (at < 1) return '•••';
  const [first] = email;
  return `${at > 1 ? first : ''}•••@${email.slice(at + 1)}`;
};

/** A destination of that channel as people may see it; the one way in which any page, command or message of ours shows one. */
export const maskDestination = (channel: 'sms' | 'email', address: string): string => (channel === 'sms' ? maskPhone(address) : maskEmail(address));

/** Order matters: tokens and addresses hold digits, so they go before the rules for digits. */
const RULES: readonly (readonly [RegExp, string | ((match: string) => string)])[] = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi, '$1 [redacted]'],
  [/\btk_[0-9a-f]{12}_[A-Za-z0-9_-]+/g, 'tk_[redacted]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi, '$1:[redacted]@'],
  [/\/(reports|unsubscribe|receipts?)\/[A-Za-z0-9_-]{16,}/g, '/$1/[redacted]'],
  [/\b((?:[a-z]+_)?(?:token|code|password|secret|api_key|key))=[^\s&#"']+/gi, '$1=[redacted]'],
  [/[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu, (match) => maskEmail(match)],
  [/\+\d(?:[ ().-]{0,2}\d){7,14}/g, (match) => maskPhone(match)],
  [/(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])/g, '[number]'],
  [/(?<![\w.:+•-])\d{6,}(?![\w:-])/g, '[number]'],
];

/**
 * Takes addresses, numbers, keys and tokens out of a free text before it is logged. A last line of defence: texts of players
 * and providers are not logged at all (reason codes are), and this catches what an error message of a library may quote.
 * Event ids, attempt keys, ISO instants and short numbers stay readable.
 */
export const redactText = (text: string): string =>
  RULES.reduce((rest, [pattern, by]) => (typeof by === 'string' ? rest.replace(pattern, by) : rest.replace(pattern, by)), text);

/**
 * Paths for pino's `redact`: whatever an object handed to the logger may carry by mistake. `err.message` and `err.code` stay,
 * since Tocsin's own errors hold reason codes and places only; `from` and `to` at the top are states of the ledger.
 */
export const REDACT_PATHS: readonly string[] = [
  'req.headers.authorization', 'req.headers.cookie', 'req.headers["x-api-key"]', 'req.headers["idempotency-key"]', 'req.body',
  'res.headers["set-cookie"]', 'res.headers.location', 'headers.authorization', 'headers.cookie',
  'message', 'ticket.message', 'form.message', 'variables', '*.variables', '*.to', '*.from',
  ...['sms', 'email', 'phone', 'addresses', 'recipient', 'contact', 'player_ref', 'body', 'mime', 'html', 'subject', 'payload', 'password',
    'secret', 'token', 'apiKey', 'api_key', 'authToken', 'raw', 'freeText',
  ].flatMap((name) => [name, `*.${name}`]),
];
