import type { PolicyStep } from '../domain/policy.ts';
import type { Carrier } from '../domain/work.ts';
import type { Channel } from '../domain/words.ts';
import type { ReadPolicy } from './policy-file.ts';
import { lacksRegistration } from './senders-file.ts';
import type { Senders } from './senders-file.ts';
import type { Supplies } from './supplies-file.ts';
import { checkStates } from './states-check.ts';
import type { ReadTemplate, ReadTemplates } from './template-file.ts';
import type { FileProblem } from './yaml-file.ts';

/** What the policies of a folder are held against. */
export interface Surroundings { templates: ReadTemplates; senders: Senders | null; supplies: Supplies | null; carriers: Readonly<Record<Channel, Carrier>> }

const checkTemplateOf = ({ policy, at }: ReadPolicy, index: number, { templates: { present, read }, carriers }: Pick<Surroundings, 'templates' | 'carriers'>): FileProblem[] => {
  const { template: name, templateVersion: version, channel } = policy.steps[index] as PolicyStep;
  const versions = present.filter((one) => one.name === name).map((one) => one.version).sort((one, other) => one - other);
  if (versions.length === 0) return [at(['steps', index, 'template'], `is ${name}, which no template is called; correct it, or add a folder of that name to the templates`, 'unknown_template')];
  if (!versions.includes(version)) return [at(['steps', index, 'template_version'], `is ${version}, but ${name} has ${versions.join(', ')}; name one of these, or add that version`, 'unknown_template_version')];
  const found = read.find(({ template }) => template.name === name && template.version === version)?.template;
  if (!found) return [];
  const problems: FileProblem[] = [];
  const keeper = found.owner === 'ours' ? null : found.owner.provider;
  if (keeper !== null && found.channel === channel && carriers[channel].name !== keeper) {
    problems.push(at(['steps', index, 'template'], `is kept by ${keeper}, but ${channel} goes through ${carriers[channel].name}; name a template of ours`, 'provider_template'));
  }
  if (found.channel !== channel) problems.push(at(['steps', index, 'template'], `is for ${found.channel}, but the step's channel is ${channel}; name a template of that channel`, 'wrong_channel'));
  if (found.classification !== policy.classification) {
    problems.push(at(['classification'], `is ${policy.classification}, but ${name} ${version} is ${found.classification}; make both the same`, 'classification_differs'));
  }
  return problems;
};

const checkCarrier = ({ policy, at }: ReadPolicy, index: number, carriers: Surroundings['carriers']): FileProblem[] => {
  const { channel, onUnknown, escalateWhen, shadow } = policy.steps[index] as PolicyStep;
  const { name, capabilities: { dedup, reconcile, evidence } } = carriers[channel];
  const problems: FileProblem[] = [];
  if (onUnknown === 'replay' && dedup !== 'replay') {
    problems.push(at(['steps', index, 'on_unknown'], `is replay, but ${name} would send a second message, since it recognises no repetition; write hold`, 'replay_without_deduplication'));
  }
  if (onUnknown === 'resubmit_if_absent' && reconcile !== 'reference') {
    problems.push(at(['steps', index, 'on_unknown'], `is resubmit_if_absent, but ${name} cannot be asked for a message by its reference; write hold`, 'resubmit_without_lookup'));
  }
  const next = shadow ? undefined : policy.steps.slice(index + 1).find((step) => !step.shadow);
  // Where the origin system is asked before the next step, it is the origin's word that decides, and not the acceptance.
  if (escalateWhen.includes('accepted') && evidence === 'none' && next !== undefined && next.precondition === undefined) {
    problems.push({ ...at(['steps', index, 'escalate_when'], `lists accepted, but acceptance is the last that ${name} ever says, so that the next step starts every time; drop it unless that is meant`, 'accepted_never_confirmed'), level: 'warning' });
  }
  return problems;
};

const checkSenders = ({ policy, at }: ReadPolicy, senders: Senders | null): FileProblem[] => (senders === null ? [] : Object.keys(policy.regions).flatMap((region) =>
  [...new Set(policy.steps.map(({ channel }) => channel))].filter((channel) => lacksRegistration(senders, { region, channel })).map((channel) =>
    at(['regions', region], `needs a registered sender for ${channel}, and senders.yaml has none; register one and add it there, or drop the region`, 'sender_unregistered'))));

/** A rule that is written down and not obeyed must not look obeyed. */
const checkQuietHours = ({ policy, at }: ReadPolicy): FileProblem[] => Object.entries(policy.regions).flatMap(([region, { quietHours }]) => Object.entries(quietHours ?? {})
  .filter(([, { timeZone, ifUnknown, except }]) => timeZone === 'recipient' && ifUnknown === undefined && except?.includes(policy.urgency) !== true)
  .map(([channel]) => ({ ...at(['regions', region, 'quiet_hours', channel], `go by the recipient's time zone, and name none to go by where it is not known: ${channel} is never used then; add if_unknown with the zones of ${region}`, 'no_zone_to_go_by'), level: 'warning' as const })));

/** Variables that some template needs and whoever hands over a notification does not give, by the policy's own word. */
const checkSupplies = ({ policy, at }: ReadPolicy, templates: readonly ReadTemplate[]): FileProblem[] => (policy.supplies === undefined ? [] : templates.flatMap(({ template }) =>
  Object.keys(template.variables).filter((name) => !policy.supplies?.includes(name)).map((name) =>
    at(['supplies'], `lacks ${name}, which ${template.name} ${template.version} needs; add it, and give it with every notification, or drop it from the template`, 'variable_not_supplied'))));

/** The same by what stands beside the policies. Told where the template declares it: that version is unfit, and not the file for all of them. */
const checkSuppliesBeside = ({ policy }: ReadPolicy, templates: readonly ReadTemplate[], supplies: Supplies | null): FileProblem[] => {
  const given = policy.supplies === undefined ? supplies?.of[policy.purpose] : undefined;
  return given === undefined ? [] : templates.flatMap(({ template, at }) => Object.keys(template.variables).filter((name) => !given.includes(name)).map((name) =>
    at(['variables', name], `is not among what ${supplies?.file} says that ${policy.purpose} is given; add it there, and give it with every notification, or drop it from the template`, 'variable_not_supplied')));
};

/** A variable that one template calls secret is secret in all of the purpose: it is the same value. */
const checkSecrets = ({ policy }: ReadPolicy, templates: readonly ReadTemplate[]): FileProblem[] => {
  const secret = new Map(templates.flatMap(({ template }) => Object.entries(template.variables).filter(([, rule]) => rule.secret).map(([name]) => [name, template.name] as const)));
  return templates.flatMap(({ template, at }) => Object.entries(template.variables).flatMap(([name, rule]) => {
    const allowed = policy.secretChannels?.[name];
    const purpose = `${policy.purpose} ${policy.version}`;
    if (secret.has(name) && allowed && !allowed.includes(template.channel)) {
      return [at(['variables', name], `is secret, and ${purpose} lets only ${allowed.join(' and ')} carry it; drop it from this template, or list ${template.channel} under secrets in the policy`, 'secret_channel')];
    }
    if (secret.has(name) && !rule.secret) {
      return [at(['variables', name], `is secret in ${secret.get(name)} of ${purpose} and not here; drop it from this template, or mark it secret here too`, 'secret_channel')];
    }
    return [];
  }));
};

/** What a policy and its templates, senders and transports are together: each may be fine alone and all of them wrong. */
export const checkPurpose = (policy: ReadPolicy, { templates, senders, supplies, carriers }: Surroundings): FileProblem[] => {
  const own = policy.policy.steps.flatMap(({ template: name, templateVersion: version }) => templates.read.filter(({ template }) => template.name === name && template.version === version));
  return [
    ...policy.policy.steps.flatMap((_step, index) => [...checkTemplateOf(policy, index, { templates, carriers }), ...checkCarrier(policy, index, carriers)]),
    ...checkSenders(policy, senders), ...checkQuietHours(policy), ...checkSupplies(policy, own), ...checkSuppliesBeside(policy, own, supplies), ...checkSecrets(policy, own), ...checkStates(own, policy.policy.secretChannels),
  ];
};
