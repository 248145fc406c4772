import type { Environment } from './environment.ts';
import { ConfigurationError, readVariables } from './environment.ts';
import { listOf } from './lists.ts';

/** What things cost, in one currency: a segment of SMS, an email, a status read, a gigabyte kept for a month. Zero where nothing is said. */
export interface PriceList { sms: number; email: number; poll: number; gb_month: number }

export const NO_PRICES: PriceList = { sms: 0, email: 0, poll: 0, gb_month: 0 };

/** Reads the price list. @throws ConfigurationError naming the entry at fault. */
export const readPriceList = (env: Environment): PriceList => {
  const prices = { ...NO_PRICES };
  for (const entry of listOf(readVariables(env, ['PRICE_LIST']).PRICE_LIST)) {
    const [, name, amount] = /^(sms|email|poll|gb_month)=(\d{1,6}(?:\.\d{1,9})?)$/.exec(entry) ?? [];
    if (name === undefined || amount === undefined) throw new ConfigurationError(`PRICE_LIST entry "${entry}" must be sms, email, poll or gb_month, = and a number such as 0.08 (see .env.example)`);
    prices[name as keyof PriceList] = Number(amount);
  }
  return prices;
};
