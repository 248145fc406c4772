import { z } from 'zod';
import type { Policy } from '../domain/policy.ts';
import { quietHoursField, quietHoursOf } from './quiet-hours.ts';

const channel = z.enum(['sms', 'email']);
/** A variable of a template. */
export const variableName = z.string().regex(/^[a-z][a-z0-9_]*$/, 'a variable is named in lower case with underscores');

/** What holds in one region. An empty one is told by the check of the policy, since it means that somebody forgot its rule. */
const regionField = z.preprocess((value) => value ?? {}, z.strictObject({
  consent: z.partialRecord(channel, z.array(z.string().min(1)).min(1, 'must name at least one lawful basis')).default({})
    .describe('Per channel, the lawful bases on which it may be used here'),
  quiet_hours: z.partialRecord(channel, quietHoursField).optional().describe('Per channel, when it stays silent here'),
}));

export const regionsField = z.record(z.string().regex(/^[A-Z]{2}$/, 'a region is two capital letters'), regionField)
  .describe('Regions that the policy covers; a notification of another one is refused as policy_rejected');

/** Fields of a policy that say what its templates may rely on. */
export const termFields = {
  supplies: z.array(variableName).min(1, 'must name at least one variable').optional()
    .describe('Variables that whoever hands over a notification of this purpose gives; lint finds a template that needs another'),
  secrets: z.record(variableName, z.array(channel).min(1, 'must name at least one channel')).optional()
    .describe('Per secret variable, the channels whose templates may carry it'),
};

type Terms = Pick<Policy, 'regions' | 'supplies' | 'secretChannels'>;
interface TermsSource { regions: z.output<typeof regionsField>; supplies?: string[] | undefined; secrets?: Record<string, ('sms' | 'email')[]> | undefined }

/** The terms of a policy. What a file leaves out stays out, so that the content of versions published before does not change. */
export const termsOf = ({ regions, supplies, secrets }: TermsSource): Terms => ({
  regions: Object.fromEntries(Object.entries(regions).map(([region, { consent, quiet_hours: quietHours }]) => [
    region, { consent, ...(quietHours === undefined ? {} : { quietHours: Object.fromEntries(Object.entries(quietHours).map(([name, hours]) => [name, quietHoursOf(hours)])) }) },
  ])),
  ...(supplies === undefined ? {} : { supplies }),
  ...(secrets === undefined ? {} : { secretChannels: secrets }),
});
