import { givesUnsubscribe, oneClickOf, UNSUBSCRIBE_VARIABLE } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { unsubscribeToken } from '../../shared/delivery/unsubscribe.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import type { Carrying } from './artifact-references.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Site } from './page.ts';
import { Problem } from './problem.ts';

const needsLink = (template: TemplateVersion): boolean => oneClickOf(template) === UNSUBSCRIBE_VARIABLE || template.terms?.optOut === UNSUBSCRIBE_VARIABLE;

const notHttps = (): Problem => new Problem({
  status: 422, code: 'public_url_not_https',
  detail: 'Mail of this purpose carries a link to unsubscribe with one click, which has to be https (RFC 8058). Set TOCSIN_PUBLIC_URL of this intake to an https address.',
});

/**
 * Adds the link to unsubscribe to the variables of a notification whose templates may show it. It is sealed with the others, so that every
 * render of the message has the same one, wherever the intake is by then. What was accepted once under the key stays accepted.
 * @throws Problem 422 where the link is needed and this intake is not reached by https. An unknown purpose passes: it is told as what it is.
 */
export const withUnsubscribeLink = async (engine: Engine, fields: NotificationFields, { site, tenant, idempotencyKey, carrying }: { site: Site; tenant: string; idempotencyKey: string; carrying: Carrying }): Promise<Carrying> => {
  const { email } = fields.recipient;
  const bound = await engine.versions.active(fields.purpose);
  const templates = bound && email !== null ? [...bound.templates.values()].filter(givesUnsubscribe) : [];
  const token = templates.length === 0 || email === null ? null : unsubscribeToken(engine, { tenant, email, madeAt: engine.now() });
  if (token === null) return carrying;
  if (!site.publicUrl.startsWith('https:')) {
    if (templates.some(needsLink)) await refuseUnlessAccepted(engine, { tenant, idempotencyKey }, notHttps());
    return carrying;
  }
  return { ...carrying, variables: (eventId) => ({ ...carrying.variables(eventId), [UNSUBSCRIBE_VARIABLE]: `${site.publicUrl}/unsubscribe/${token}` }) };
};
