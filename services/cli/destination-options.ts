import type { Channel } from '../../shared/domain/words.ts';
import { addressPrint, normaliseAddress } from '../../shared/delivery/suppression.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { isKnownTenant } from '../../shared/ledger/reads.ts';
import type { Input, OptionSpec } from './command.ts';
import { Refusal, UsageError } from './refusal.ts';

/** Most rows that a list shows; one more is asked for, to know whether there are more. */
export const LISTED = 200;

/** Options that name a destination. */
export const DESTINATION = {
  channel: { value: 'C', help: 'sms or email' },
  address: { value: 'A', help: 'phone number with + and country code, or email address; kept as a keyed fingerprint only' },
  tenant: { value: 'T', help: 'whose notifications it is about (default: default)' },
} satisfies Record<string, OptionSpec>;

/** The same for a list, which may be of all tenants. */
export const DESTINATION_FILTER = { ...DESTINATION, tenant: { value: 'T', help: 'only those of that tenant (default: of all)' } } satisfies Record<string, OptionSpec>;

/** @throws UsageError where it is none. */
const channelOf = (text: string): Channel => {
  if (text !== 'sms' && text !== 'email') throw new UsageError('--channel must be sms or email', '--channel');
  return text;
};

/** @throws UsageError, which never repeats what was given: an error is no place for an address. */
const addressOf = (channel: Channel, text: string): string => {
  const address = normaliseAddress(channel, text);
  if (address === null) throw new UsageError(channel === 'sms' ? '--address must be a phone number with + and country code, e.g. +12025550101' : '--address must be an email address, e.g. ada@example.com', '--address');
  return address;
};

/** The destination that the options name. @throws UsageError. */
export const destinationOf = (input: Input): { tenant: string; channel: Channel; address: string } => {
  const channel = channelOf(input.required('channel'));
  return { tenant: input.text('tenant') ?? 'default', channel, address: addressOf(channel, input.required('address')) };
};

/** What a list is narrowed down to. @throws UsageError, also for an address without its channel. */
export const destinationFilter = (input: Input): ((engine: Engine) => { tenant: string | undefined; channel: Channel | undefined; addressPrint: Uint8Array | undefined; limit: number }) => {
  const asked = input.text('channel');
  const channel = asked === undefined ? undefined : channelOf(asked);
  const text = input.text('address');
  if (text !== undefined && channel === undefined) throw new UsageError('--address needs --channel', '--channel');
  const address = text === undefined || channel === undefined ? undefined : addressOf(channel, text);
  return ({ ring }) => ({
    tenant: input.text('tenant'), channel, limit: LISTED + 1, addressPrint: address === undefined || channel === undefined ? undefined : addressPrint(ring, channel, address),
  });
};

/** Says below a list that there is more of it. */
export const moreThanListed = (rows: number): string => (rows > LISTED ? `Only the newest ${LISTED}; narrow it down with --channel and --address.\n` : '');

/** @throws Refusal where nobody has that tenant. */
export const refuseUnknownTenant = async ({ db }: Engine, tenant: string): Promise<void> => {
  if (tenant === 'default' || await isKnownTenant(db, tenant)) return;
  throw new Refusal(`no tenant is called ${tenant}: it has neither an API key nor a notification`, { code: 'unknown_tenant', field: '--tenant', cure: 'see `npx tocsin key list` for the tenants there are' });
};

/** Reasons of a closed list, less those that mean the other way. */
export const without = (reasons: readonly string[], others: readonly string[]): string[] => reasons.filter((reason) => !others.includes(reason));

/** A fingerprint as people see it. */
export const short = (print: Uint8Array): string => Buffer.from(print).toString('hex').slice(0, 12);
