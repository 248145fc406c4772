import dns from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { mayConnectTo } from './address-rules.ts';

type Done = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;
/** As `dns.lookup` with `all`. */
export type Resolve = (host: string, options: LookupOptions & { all: true }, done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void) => void;

/** The code of the error with which a connection to an address that is not public ends. */
export const ADDRESS_NOT_ALLOWED = 'ERR_ADDRESS_NOT_ALLOWED';

const notAllowed = (): NodeJS.ErrnoException => Object.assign(new Error('the host has an address that may not be asked'), { code: ADDRESS_NOT_ALLOWED });

/**
 * The `lookup` of a connection. It checks the very addresses that are then connected to, so that a name which resolves to another
 * one a moment later gains nothing. One address that is not public refuses all of them. Not asked where the host is an address.
 */
export const createGuardedLookup = (allowLoopback: boolean, resolve: Resolve = dns.lookup as Resolve) => (host: string, options: LookupOptions, done: Done): void => {
  resolve(host, { ...options, all: true }, (error, addresses) => {
    if (error) return done(error, []);
    const [first] = addresses;
    if (first === undefined || !addresses.every(({ address }) => mayConnectTo(address, allowLoopback))) return done(notAllowed(), []);
    if (options.all) return done(null, addresses);
    return done(null, first.address, first.family);
  });
};
