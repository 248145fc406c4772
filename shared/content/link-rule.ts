import { isLoopbackHost } from '../config/precondition-config.ts';
import type { TemplateVersion, VariableRule } from './template.ts';

/** What is wrong with a link that came in by a variable, and what to do about it; never the link, which may hold a token. */
export interface LinkFault { problem: string; cure: string }

/**
 * The hosts that a variable's link may lead to: those that the template names for it, else those of its written links, else those of the
 * deployment; null where nobody named any.
 */
export const hostsFor = ({ hosts }: VariableRule, { terms }: Pick<TemplateVersion, 'terms'>, deployment: readonly string[]): readonly string[] | null =>
  hosts ?? terms?.linkHosts ?? (deployment.length > 0 ? deployment : null);

/**
 * What is wrong with the link of a variable; null where it obeys what holds for links that are written into a template: https and an allowed host. Plain
 * http leads to this machine alone, where no network is between. What is no address at all is the renderer's to tell.
 */
export const linkFault = (text: string, hosts: readonly string[] | null): LinkFault | null => {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return { problem: 'holds a user or a password, behind which another host can hide', cure: 'leave them out' };
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) return { problem: 'is an http link', cure: 'give an https link' };
  if (hosts !== null && !hosts.includes(url.host)) return { problem: 'leads to a host that is not allowed', cure: `use one of ${hosts.join(', ')}, or have the template's hosts or TOCSIN_LINK_HOSTS changed` };
  return null;
};
