import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { ScryptOptions } from 'node:crypto';

/** What a hash costs: about 128 * n * r bytes, p times over. */
export interface PasswordCost { n: number; r: number; p: number }

/** 32 MiB, three times over (source: OWASP Password Storage Cheat Sheet, scrypt). */
export const PASSWORD_COST: PasswordCost = { n: 2 ** 15, r: 8, p: 3 };

const HASH_BYTES = 32;
const SHORTEST = 12;
/** A text of any length would be hashed in full before it is refused. */
export const LONGEST_PASSWORD = 200;

const derive = (password: string, salt: Buffer, { n, r, p }: PasswordCost): Promise<Buffer> => new Promise((resolve, reject) => {
  const options: ScryptOptions = { N: n, r, p, maxmem: 2 * 128 * n * r };
  scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
});

/** One at a time in a process: memory-hard also means that a crowd of logins must not take the memory of the rest. */
let last: Promise<unknown> = Promise.resolve();
const inTurn = <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
  const turn = last.then(work);
  last = turn.catch(() => undefined);
  return turn;
};

/** `scrypt$N$r$p$salt$hash`: everything that is needed to check a password later, also once the cost was raised. */
export const hashPassword = async (password: string, cost: PasswordCost = PASSWORD_COST): Promise<string> => {
  const salt = randomBytes(16);
  const key = await inTurn(() => derive(password, salt, cost));
  return ['scrypt', cost.n, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join('$');
};

const SHAPE = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([A-Za-z0-9_-]+)\$([A-Za-z0-9_-]{43})$/;
const NOBODY = `scrypt$${PASSWORD_COST.n}$${PASSWORD_COST.r}$${PASSWORD_COST.p}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/**
 * Whether a password has this stored hash. Without one (nobody has that name) the same work is done all the same, so that the time it
 * takes does not tell which names there are.
 * @throws Error where the stored text is no hash.
 */
export const passwordMatches = async (password: string, stored: string | null): Promise<boolean> => {
  const match = SHAPE.exec(stored ?? NOBODY);
  if (!match) throw new Error('a stored password hash is not of a known form');
  const [, n, r, p, salt, hash] = match as unknown as [string, string, string, string, string, string];
  const key = await inTurn(() => derive(password, Buffer.from(salt, 'base64url'), { n: Number(n), r: Number(r), p: Number(p) }));
  return timingSafeEqual(key, Buffer.from(hash, 'base64url')) && stored !== null;
};

/** What is wrong with a new password, and what to do; null where nothing is. Length alone counts (source: NIST SP 800-63B, 5.1.1). */
export const passwordFault = (password: string, name: string): string | null => {
  if ([...password].length < SHORTEST) return `has fewer than ${SHORTEST} characters; take a longer one, such as four words`;
  if (password.length > LONGEST_PASSWORD) return `has more than ${LONGEST_PASSWORD} characters; take a shorter one`;
  if (/\p{Cc}/u.test(password)) return 'has control characters; take visible ones';
  if (password.toLowerCase().includes(name.toLowerCase())) return 'holds the name; take one that does not';
  return new Set(password).size < 5 ? 'repeats a few characters; take another one' : null;
};

/** A password to type once and keep: 120 bits in 20 characters. */
export const generatePassword = (): string => randomBytes(15).toString('base64url');
