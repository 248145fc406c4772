import type { Channel } from '../../shared/domain/words.ts';

/**
 * `refuse`: the line is dropped (HTTP) or greeted with 421 (SMTP); `hang`: no answer; `error500`: a server error, nothing
 * accepted; `closed`: the port itself is shut, so that connecting is refused.
 */
export const OUTAGE_KINDS = ['off', 'refuse', 'hang', 'error500', 'closed'] as const;
export type OutageKind = typeof OUTAGE_KINDS[number];

export interface Outages {
  kind(channel: Channel): OutageKind;
  /** Takes the provider of a channel away, or back (`off`); with `forMs` it comes back by itself. */
  set(channel: Channel, kind: OutageKind, forMs?: number): Promise<void>;
  /** Stops the clocks of outages that would end by themselves. */
  stop(): void;
}

/** What shutting a port needs of the server behind it. */
export interface Port { shut(): Promise<void>; reopen(): Promise<void> }

/** All providers are there at first. */
export const createOutages = (ports: Record<Channel, Port>): Outages => {
  const current: Record<Channel, OutageKind> = { sms: 'off', email: 'off' };
  const timers: Partial<Record<Channel, NodeJS.Timeout>> = {};

  const set = async (channel: Channel, kind: OutageKind, forMs?: number): Promise<void> => {
    clearTimeout(timers[channel]);
    const before = current[channel];
    current[channel] = kind;
    if (kind === 'closed' && before !== 'closed') await ports[channel].shut();
    if (kind !== 'closed' && before === 'closed') await ports[channel].reopen();
    if (forMs !== undefined && kind !== 'off') timers[channel] = setTimeout(() => void set(channel, 'off'), forMs);
  };
  return {
    kind: (channel) => current[channel],
    set,
    stop() {
      clearTimeout(timers.sms);
      clearTimeout(timers.email);
    },
  };
};
