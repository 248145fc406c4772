import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * IPv4 that is no public host: this network, private, shared, loopback, link-local, documentation, benchmarks, multicast, reserved.
 * Source: the IANA special-purpose address registries.
 */
const NOT_PUBLIC_V4: readonly [string, number][] = [
  ['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16], ['172.16.0.0', 12], ['192.0.0.0', 24], ['192.0.2.0', 24],
  ['192.88.99.0', 24], ['192.168.0.0', 16], ['198.18.0.0', 15], ['198.51.100.0', 24], ['203.0.113.0', 24], ['224.0.0.0', 4], ['240.0.0.0', 4],
];
/** Of IPv6 only 2000::/3 is public at all; so mapped, NAT64, unique-local and link-local ones are out already. These within it are not. */
const NOT_PUBLIC_V6: readonly [string, number][] = [['2001::', 23], ['2001:db8::', 32], ['2002::', 16], ['3fff::', 20]];

const v4 = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_V4) v4.addSubnet(net, prefix, 'ipv4');
const v6 = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_V6) v6.addSubnet(net, prefix, 'ipv6');
const publicV6 = new BlockList();
publicV6.addSubnet('2000::', 3, 'ipv6');
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a question may be sent to that address; anything that is no address may not. */
export const mayConnectTo = (address: string, allowLoopback: boolean): boolean => {
  if (isIPv4(address)) return (allowLoopback && loopback.check(address, 'ipv4')) || !v4.check(address, 'ipv4');
  // A zone (fe80::1%eth0) is only ever written behind addresses that are not public.
  if (!isIPv6(address) || address.includes('%')) return false;
  return (allowLoopback && loopback.check(address, 'ipv6')) || (publicV6.check(address, 'ipv6') && !v6.check(address, 'ipv6'));
};
