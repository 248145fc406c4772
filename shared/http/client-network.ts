/** The network that an address counts as: one household has one IPv6 network of 64 bits, and every address in it. */
export const networkOf = (address: string): string => (address.includes(':') && !address.startsWith('::ffff:') ? address.split(':').slice(0, 4).join(':') : address);
