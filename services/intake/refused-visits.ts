import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../../shared/http/client-network.ts';
import type { RefusedVisit } from '../../shared/ledger/report-links.ts';
import { Problem } from './problem.ts';

const within = async (limiter: RateLimiterMemory, key: string): Promise<boolean> => {
  try {
    await limiter.consume(key);
    return true;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return false;
    throw refusal;
  }
};

/** So many refused visits a minute are looked at in all, wherever they come from: a flood must not become one of the database. */
const MOST_A_MINUTE = 6_000;

/**
 * Whether a refused visit of a link is still to be recorded: the first in a minute of a client's network, no more of a link than that has visits which
 * are not refused, and no more of a network. The two that an anonymous flood cannot multiply by making up links are counted first, so that
 * what is remembered is bounded too.
 */
export const createRefusedVisits = (perMinute: { address: number; link: number }): ((token: string, address: string) => Promise<boolean>) => {
  const limiter = (keyPrefix: string, points: number): RateLimiterMemory => new RateLimiterMemory({ keyPrefix, points, duration: 60 });
  const [all, network, pair, link] = [limiter('refused', MOST_A_MINUTE), limiter('refused-network', perMinute.address), limiter('refused-pair', 1), limiter('refused-link', perMinute.link)];
  return async (token, address) => {
    const [name, from] = [token.slice(0, 64), networkOf(address)];
    return await within(network, from) && await within(all, '') && await within(pair, `${name} ${from}`) && await within(link, name);
  };
};

/** What an error in front of the work makes of a visit; null where it was no refusal of ours, or was recorded with the work. */
export const refusedVisitOf = (error: unknown): RefusedVisit | null => {
  const status = error instanceof Problem ? error.details.status : 0;
  if (status === 429) return 'limited';
  return [400, 413, 415].includes(status) ? 'malformed' : null;
};
