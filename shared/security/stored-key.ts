import { fingerprint } from './fingerprint.ts';
import type { KeyRing } from './key-ring.ts';

/**
 * What is stored of the idempotency key of a notification: a fingerprint, scoped by the tenant. A caller may make its keys of
 * addresses or order numbers, and the row they would stand in is never erased.
 */
export const storedKey = (ring: KeyRing, tenant: string, key: string): string =>
  `key:${fingerprint(ring, 'idempotency-key', JSON.stringify(['notification', tenant, key])).toString('base64url')}`;
