import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Channel } from '../domain/words.ts';
import { readYamlFile } from './yaml-file.ts';
import type { FileProblem } from './yaml-file.ts';

const region = z.string().regex(/^[A-Z]{2}$/, 'a region is two capital letters');
const channel = z.enum(['sms', 'email']);

/** `senders.yaml` beside the policies; its JSON schema is published under `docs/schemas`. */
export const sendersSchema = z.strictObject({
  needs: z.record(region, z.array(channel).min(1, 'must name at least one channel')).default({}).describe('Per region, the channels whose sender must be registered there'),
  registered: z.array(z.strictObject({
    region, channel,
    sender: z.string().min(1).describe('Number, sender id or domain'),
    reference: z.string().min(1).describe('Where the record of the registration is kept'),
  })).default([]),
});

export type Senders = z.output<typeof sendersSchema>;

/** Reads `<dir>/senders.yaml`; without one nothing is known to need a registration. */
export const readSenders = (dir: string): { senders: Senders | null; problems: FileProblem[] } => {
  const path = join(dir, 'senders.yaml');
  if (!existsSync(path)) return { senders: null, problems: [] };
  const read = readYamlFile(path, sendersSchema, dir);
  return read.ok ? { senders: read.value, problems: [] } : { senders: null, problems: read.problems };
};

/** Whether a sender must be registered for a channel in a region, and none is. */
export const lacksRegistration = ({ needs, registered }: Senders, where: { region: string; channel: Channel }): boolean =>
  (needs[where.region] ?? []).includes(where.channel) && !registered.some((one) => one.region === where.region && one.channel === where.channel);
