import type { CarriedArtifact } from '../../shared/content/render-attempt.ts';
import { attachedTo } from '../../shared/delivery/payload.ts';
import { CODE_PURPOSE, LINK_VARIABLES, OTHER_CHANNEL } from '../../shared/delivery/report-links.ts';
import type { BoundVersions } from '../../shared/delivery/versions.ts';
import { templateKey } from '../../shared/delivery/versions.ts';
import { namedBases } from '../../shared/domain/policy.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import type { Channel } from '../../shared/domain/words.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Fault } from './problem.ts';

type Recipient = NotificationFields['recipient'];
const NAMES: Readonly<Record<Channel, string>> = { sms: 'SMS', email: 'email' };

const acceptedBases = (policy: Policy, { region }: Recipient, channel: Channel): readonly string[] | undefined => policy.regions[region]?.consent[channel];

const mayUse = (policy: Policy, recipient: Recipient, channel: Channel): boolean => {
  const bases = acceptedBases(policy, recipient, channel);
  return policy.regions[recipient.region] !== undefined && (bases === undefined || recipient.consent.some((one) => one.channel === channel && bases.includes(one.basis)));
};

/** Of a recipient's consents, those that a code can be sent under: what a policy does not name is not kept in clear, and so is not known by then. */
const keptConsents = (policy: Policy, { consent }: Recipient): Recipient['consent'] => {
  const named = namedBases(policy);
  return consent.filter(({ basis }) => named.has(basis));
};

const hasLink = ({ templates }: BoundVersions, { channel, template, templateVersion }: PolicyStep): boolean =>
  Object.hasOwn(templates.get(templateKey(template, templateVersion))?.variables ?? {}, LINK_VARIABLES[channel]);

/** What else helps: an email that may attach a report needs no code for one that is small enough. */
const orSmaller = ({ attachUpToBytes }: PolicyStep): string =>
  (attachUpToBytes === undefined ? '' : `, or store a report of at most ${attachUpToBytes.toLocaleString('en')} bytes, which is attached`);

/** Why no code could be sent by a channel; null where one could. */
const codeFault = (codes: BoundVersions | null, recipient: Recipient, { step, channel }: { step: PolicyStep; channel: Channel }): Fault | null => {
  const why = `, and the ${NAMES[step.channel]} has the report only as a link, which opens with a code sent by ${NAMES[channel]}`;
  const smaller = orSmaller(step);
  if (!codes?.policy.steps.some((one) => one.channel === channel && !one.shadow) || !codes.policy.regions[recipient.region]) {
    return { field: 'purpose', problem: `has no way to send a code in region ${recipient.region}${why}`, cure: `have a ${CODE_PURPOSE} policy with that region and channel activated${smaller}` };
  }
  const bases = acceptedBases(codes.policy, recipient, channel);
  const consent = bases === undefined ? '' : ` with a consent such as ${channel}:${bases[0] ?? 'consent'}`;
  if (recipient[channel] === null) return { field: `recipient.${channel}`, problem: `is missing${why}`, cure: `give recipient.${channel}${consent}${smaller}` };
  if (mayUse(codes.policy, recipient, channel)) return null;
  return { field: 'recipient.consent', problem: `has none for ${NAMES[channel]} that a code can be sent under${why}`, cure: `give one of ${bases?.map((basis) => `${channel}:${basis}`).join(', ') ?? channel}${smaller}` };
};

/**
 * Why a message would hold its report out of reach: it has the link alone, and the code for it could be sent nowhere. Only what would be sent counts: a
 * step without an address or a consent of its own is skipped, and makes no promise. One fault for each field.
 */
export const unreachableReports = (recipient: Recipient, carried: readonly CarriedArtifact[], { bound, codes }: { bound: BoundVersions; codes: BoundVersions | null }): Fault[] => {
  const { policy } = bound;
  const coded = { ...recipient, consent: keptConsents(policy, recipient) };
  const sent = policy.steps.filter((step) => !step.shadow && recipient[step.channel] !== null && mayUse(policy, recipient, step.channel));
  const faults = sent.filter((step) => hasLink(bound, step) && attachedTo(step, carried).length === 0)
    .map((step) => codeFault(codes, coded, { step, channel: OTHER_CHANNEL[step.channel] }));
  return [...new Map(faults.filter((fault) => fault !== null).map((fault) => [fault.field, fault])).values()];
};
