import { Redis } from 'ioredis';

const base64Of = (text: string): string[] => [0, 1, 2].map((shift) => {
  const encoded = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)]).toString('base64').replace(/=+$/, '');
  // The first and last characters share bits with whatever stands beside the text.
  return encoded.slice(shift === 0 ? 0 : shift + 1, -2);
});
const quotedPrintable = (text: string): string => text.replace(/[^\x21-\x3c\x3e-\x7e]/g, (one) => [...Buffer.from(one)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''));

const htmlEscaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll('\'', '&#39;');

/** A text as it may stand where nobody looks for it: raw, as JSON and as HTML, base64 (at each offset), URL-safe base64, quoted-printable, percent-encoded and hex. */
export const encodingsOf = (text: string): string[] => {
  const base64 = base64Of(text);
  const all = [text, JSON.stringify(text).slice(1, -1), htmlEscaped(text), ...base64, ...base64.map((one) => one.replaceAll('+', '-').replaceAll('/', '_')), quotedPrintable(text), encodeURIComponent(text), Buffer.from(text).toString('hex')];
  return [...new Set(all)].filter((one) => one.length >= 4);
};

/** Which of the encodings of which texts stand in a heap of text; empty where none does. Letter case means nothing, as in hex and in addresses. */
export const tracesIn = (heap: string, texts: readonly string[]): string[] => {
  const lower = heap.toLowerCase();
  return texts.flatMap((text) => encodingsOf(text).filter((one) => lower.includes(one.toLowerCase())).map((one) => `${text} as ${one}`));
};

type Ask = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** Every row of every table of a database as text, bytes in hex: what a dump holds. By table. */
export const dumpOf = async (ask: Ask): Promise<Map<string, string>> => {
  const tables = await ask('SELECT quote_ident(schemaname) || \'.\' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname NOT IN (\'pg_catalog\', \'information_schema\') ORDER BY 1');
  const dump = new Map<string, string>();
  for (const { name } of tables) {
    const rows = await ask(`SELECT t::text AS row FROM ${String(name)} AS t`);
    if (rows.length > 0) dump.set(String(name), rows.map(({ row }) => String(row)).join('\n'));
  }
  return dump;
};

/** Each server that a Redis URL speaks of, all those of a cluster. */
const serversOf = (url: string): string[] => {
  const nodes = /^redis\+cluster:\/\/([^/]+)/.exec(url)?.[1];
  return nodes === undefined ? [url] : nodes.slice(nodes.lastIndexOf('@') + 1).split(',').map((node) => `redis://${node}`);
};

const valueOf = async (redis: Redis, key: string): Promise<string> => {
  switch (await redis.type(key)) {
    case 'hash': return JSON.stringify(await redis.hgetall(key));
    case 'list': return JSON.stringify(await redis.lrange(key, 0, -1));
    case 'zset': return JSON.stringify(await redis.zrange(key, '0', '-1'));
    case 'set': return JSON.stringify(await redis.smembers(key));
    case 'stream': return JSON.stringify(await redis.xrange(key, '-', '+'));
    default: return String(await redis.get(key));
  }
};

/** Everything that a Redis database, or a cluster, holds: keys and values. */
export const redisHeap = async (url: string): Promise<string> => {
  const heaps: string[] = [];
  for (const server of serversOf(url)) {
    const redis = new Redis(server);
    try {
      const keys = await redis.keys('*');
      heaps.push(...await Promise.all(keys.map(async (key) => `${key} ${await valueOf(redis, key)}`)));
    } finally {
      redis.disconnect();
    }
  }
  return heaps.join('\n');
};
