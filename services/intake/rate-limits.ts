import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../../shared/http/client-network.ts';
import { Problem } from './problem.ts';

export interface TicketLimits {
  /** Counts a request of a client address, also one that repeats another: reading it costs the same. @throws Problem 429. */
  byAddress: (address: string) => Promise<void>;
  /**
   * Counts a new ticket of a player from an address. @throws Problem 429.
   *
   * The form is anonymous and a player's reference no secret, so the two count together: counted by the reference alone, a
   * stranger could keep its owner from the form. What this gives up, many addresses writing for one player, `byAddress`
   * bounds per address.
   */
  byPlayer: (player: string, address: string) => Promise<void>;
}

const count = async (limiter: RateLimiterMemory, key: string, what = 'tickets'): Promise<void> => {
  try {
    await limiter.consume(key);
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    throw new Problem({ status: 429, code: 'too_many_requests', detail: `Too many ${what} in a short time. Send it again in ${seconds} seconds.`, headers: { 'Retry-After': String(seconds) } });
  }
};

/** Limits of this process, per minute. */
export const createTicketLimits = (perMinute: { address: number; player: number }): TicketLimits => {
  const address = new RateLimiterMemory({ keyPrefix: 'address', points: perMinute.address, duration: 60 });
  const player = new RateLimiterMemory({ keyPrefix: 'player', points: perMinute.player, duration: 60 });
  return { byAddress: (key) => count(address, networkOf(key)), byPlayer: (key, from) => count(player, `${networkOf(from)} ${key}`) };
};

export interface ReportLimits {
  /** Counts a request about any report from a client address. @throws Problem 429. */
  byAddress: (address: string) => Promise<void>;
  /** Counts a request about one link, whether or not there is such a link. @throws Problem 429. */
  byLink: (token: string) => Promise<void>;
}

/** Limits of this process, per minute. */
export const createReportLimits = (perMinute: { address: number; link: number }): ReportLimits => {
  const address = new RateLimiterMemory({ keyPrefix: 'report-address', points: perMinute.address, duration: 60 });
  const link = new RateLimiterMemory({ keyPrefix: 'report-link', points: perMinute.link, duration: 60 });
  return { byAddress: (key) => count(address, networkOf(key), 'requests'), byLink: (token) => count(link, token.slice(0, 64), 'requests') };
};
