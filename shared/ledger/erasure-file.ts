import { createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { canonicalText } from '../security/canonical.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import type { RecordedErasure } from './erasures.ts';

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const lineSchema = z.strictObject({
  erasure: z.string().regex(/^ers_[0-9A-HJKMNP-TV-Z]{26}$/), tenant: z.string(), at: z.number().int(), reason: z.string().regex(/^[a-z][a-z_]{0,39}$/), actor: z.string(),
  reference: hex, player: hex, sms: hex.nullable(), email: hex.nullable(), mac: hex,
});
type Line = z.output<typeof lineSchema>;

const contentOf = (one: Omit<RecordedErasure, 'mac'>): Omit<Line, 'mac'> => ({
  erasure: one.erasureId, tenant: one.tenant, at: one.at, reason: one.reason, actor: one.actor, reference: one.referencePrint.toString('hex'), player: one.playerPrint.toString('hex'),
  sms: one.smsPrint && one.smsPrint.toString('hex'), email: one.emailPrint && one.emailPrint.toString('hex'),
});

/** What makes a line count: keyed, since whoever could write one would have somebody erased. */
export const erasureMac = (ring: KeyRing, one: Omit<RecordedErasure, 'mac'>): Buffer => fingerprint(ring, 'erasure', canonicalText(contentOf(one)));

const fromHex = (text: string): Buffer => Buffer.from(text, 'hex');

/** Reads a line; null where it is none that this deployment wrote. */
const readLine = (ring: KeyRing, text: string): RecordedErasure | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const line = lineSchema.safeParse(value).data;
  if (line === undefined) return null;
  const one: RecordedErasure = {
    erasureId: line.erasure, tenant: line.tenant, at: line.at, reason: line.reason, actor: line.actor, referencePrint: fromHex(line.reference), playerPrint: fromHex(line.player),
    smsPrint: line.sms === null ? null : fromHex(line.sms), emailPrint: line.email === null ? null : fromHex(line.email), mac: fromHex(line.mac),
  };
  return erasureMac(ring, one).equals(one.mac) ? one : null;
};

/** The erasures of a file, each once, and how many of its lines are none; nothing where there is no file. */
export const readErasureFile = async (path: string, ring: KeyRing): Promise<{ erasures: RecordedErasure[]; unreadable: number }> => {
  const found = new Map<string, RecordedErasure>();
  let unreadable = 0;
  if (await stat(path).catch(() => null) === null) return { erasures: [], unreadable };
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const one = text === '' ? null : readLine(ring, text);
    if (one) found.set(one.erasureId, one);
    else if (text !== '') unreadable += 1;
  }
  return { erasures: [...found.values()], unreadable };
};

/** Adds erasures to a file, flushed to disk. What a crash left of a line is ended first, and stays unreadable by itself. */
export const appendToErasureFile = async (path: string, erasures: readonly RecordedErasure[]): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    const torn = size > 0 && last[0] !== 0x0a;
    const lines = erasures.map((one) => `${JSON.stringify({ ...contentOf(one), mac: one.mac.toString('hex') } satisfies Line)}\n`);
    await file.appendFile(`${torn ? '\n' : ''}${lines.join('')}`);
    await file.sync();
  } finally {
    await file.close();
  }
};
