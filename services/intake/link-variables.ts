import { hostsFor, linkFault } from '../../shared/content/link-rule.ts';
import { onceEach } from '../../shared/content/once-each.ts';
import type { TemplateVersion, VariableRule } from '../../shared/content/template.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Fault } from './problem.ts';
import { faultyFields } from './problem.ts';

const linksOf = onceEach((template: TemplateVersion): [name: string, rule: VariableRule][] => Object.entries(template.variables).filter(([, { type }]) => type === 'url'));

const faultsFor = (template: TemplateVersion, variables: Readonly<Record<string, string>>, deployment: readonly string[]): [name: string, fault: Fault][] =>
  linksOf(template).filter(([name]) => Object.hasOwn(variables, name)).flatMap(([name, rule]) => {
    const fault = linkFault(variables[name] as string, hostsFor(rule, template, deployment));
    return fault ? [[name, { field: `variables.${name}`, ...fault }]] : [];
  });

/**
 * Refuses links in variables that a template itself could not hold: whoever hands over a notification often makes them from a request of somebody
 * else, whose `Host` header could then lead a reader anywhere. Every step counts. What was accepted once under the key stays accepted, and is
 * rendered as it was.
 * @throws Problem 422 naming the variables, never a link.
 */
export const refuseLinks = async (engine: Engine, fields: NotificationFields, at: { tenant: string; idempotencyKey: string; linkHosts: readonly string[] }): Promise<void> => {
  const bound = await engine.versions.active(fields.purpose);
  const faults = new Map([...bound?.templates.values() ?? []].flatMap((template) => faultsFor(template, fields.variables, at.linkHosts)));
  if (faults.size > 0) await refuseUnlessAccepted(engine, at, faultyFields([...faults.values()], 'link_not_allowed', 422));
};
