import type { IncomingHttpHeaders } from 'node:http';
import { openPart, sealPart } from '../../shared/delivery/payload.ts';
import type { KeyRing } from '../../shared/security/key-ring.ts';
import { cookieIn } from './cookies.ts';

/** Why an operator acts, said once for the actions that follow. */
export interface StatedReason { reason: string; user: string; at: number }

const COOKIE = 'tocsin_reason';
const CONTEXT = ['dashboard', 'reason'] as const;
/** How long a stated reason counts. */
export const REASON_LASTS_MS = 3_600_000;

/** The cookie that carries a stated reason: sealed, for this site alone, gone after an hour. */
export const reasonCookie = (ring: KeyRing, stated: StatedReason): string => {
  const { keyId, box } = sealPart(ring, ...CONTEXT, stated);
  const value = `${keyId}.${Buffer.from(box).toString('base64url')}`;
  return `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${REASON_LASTS_MS / 1_000}`;
};

/** Takes a stated reason back. */
export const NO_REASON_COOKIE = `${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

/** The reason that this user stated within the hour; null where there is none, or it was not sealed here. */
export const statedReason = (ring: KeyRing, headers: IncomingHttpHeaders | Record<string, string | undefined>, { user, now }: { user: string; now: number }): StatedReason | null => {
  const cookie = cookieIn(headers.cookie, COOKIE);
  if (cookie === null) return null;
  const cut = cookie.lastIndexOf('.');
  try {
    const stated = openPart<StatedReason>(ring, ...CONTEXT, { keyId: cookie.slice(0, cut), box: Buffer.from(cookie.slice(cut + 1), 'base64url') });
    return stated.user === user && now - stated.at < REASON_LASTS_MS ? stated : null;
  } catch {
    // A cookie of another key ring, or one that somebody made up: no reason stands.
    return null;
  }
};
