import type { TemplateVersion } from '../../shared/content/template.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Fault } from './problem.ts';
import { faultyFields } from './problem.ts';

type Variables = Readonly<Record<string, string>>;

/** The variable by which a message states until when it is good. */
const EXPIRY_VARIABLE = 'valid_until';

/** Null for what is no host alone: `accounts.example.com@evil.example` reads like one, and leads elsewhere. */
const hostIn = (text: string): URL | null => (/^[^\s/@?#\\]+$/.test(text) && URL.canParse(`https://${text}`) ? new URL(`https://${text}`) : null);

const leadsTo = (link: URL, stated: URL): boolean =>
  (link.hostname === stated.hostname || link.hostname.endsWith(`.${stated.hostname}`)) && (stated.port === '' || link.port === stated.port);

/** Links that the stated host is about: not those whose hosts the template names itself, nor those by which a reader stops mail. */
const linksOf = ({ variables, terms }: TemplateVersion, given: Variables): string[] =>
  Object.entries(variables).filter(([name, { type, hosts }]) => type === 'url' && hosts === undefined && name !== terms?.optOut && name !== terms?.oneClick && URL.canParse(given[name] ?? '')).map(([name]) => name);

const hostFaults = (template: TemplateVersion, given: Variables): Fault[] => {
  const stating = template.terms?.states?.host ?? '';
  const text = Object.hasOwn(given, stating) ? given[stating] : undefined;
  if (text === undefined || template.variables[stating]?.type !== 'string') return [];
  const [host, links] = [hostIn(text), linksOf(template, given)];
  const away = links.filter((name) => host === null || !leadsTo(new URL(given[name] as string), host));
  if (away.length === 0) return [];
  const cure = `let the link lead to the host that variables.${stating} names, or to one under it`;
  return [
    ...away.map((name) => ({ field: `variables.${name}`, problem: `leads to another host than variables.${stating} states`, cure })),
    { field: `variables.${stating}`, problem: host === null ? 'is not a host' : `states another host than variables.${away.join(', variables.')} leads to`, cure: host === null ? 'write it as accounts.example.com' : cure },
  ];
};

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** A text such as `12:10 UTC` is for people: it names no day, and nothing can be held against it. */
const expiryFaults = (template: TemplateVersion, given: Variables, expiresAt: number): Fault[] => {
  const text = Object.hasOwn(template.variables, EXPIRY_VARIABLE) ? given[EXPIRY_VARIABLE] : undefined;
  if (text === undefined || !INSTANT.test(text) || !(Date.parse(text) > expiresAt)) return [];
  return [
    { field: `variables.${EXPIRY_VARIABLE}`, problem: 'is later than the notification expires', cure: 'state an instant no later than that' },
    { field: 'expires_at', problem: `is earlier than variables.${EXPIRY_VARIABLE} states`, cure: 'give the instant that the message states, or leave it out where the purpose allows that long' },
  ];
};

/**
 * Refuses values that contradict each other, which lint cannot see: a link that leads to another host than the text beside it names, as a forged request
 * would have it, and a message that promises more time than there is. What was accepted once stays accepted.
 * @throws Problem 422 naming both fields, never their values.
 */
export const refuseContradictions = async (engine: Engine, fields: NotificationFields, key: { tenant: string; idempotencyKey: string }): Promise<void> => {
  const bound = await engine.versions.active(fields.purpose);
  if (!bound) return;
  const expiresAt = fields.expiresAt ?? engine.now() + bound.policy.expiresAfterMs;
  const faults = [...bound.templates.values()].flatMap((template) => [...hostFaults(template, fields.variables), ...expiryFaults(template, fields.variables, expiresAt)]);
  const byField = new Map(faults.map((fault) => [fault.field, fault]));
  if (byField.size > 0) await refuseUnlessAccepted(engine, key, faultyFields([...byField.values()], 'variables_contradict', 422));
};
