import { join } from 'node:path';
import { loadTemplates } from '../../shared/content/template-file.ts';
import type { RenderInput } from '../../shared/content/render-attempt.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';

export const TEMPLATE_DIR = join(import.meta.dirname, '../../templates');
export const POLICY_DIR = join(import.meta.dirname, '../../policies');
export const EVENT_ID = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';

const shipped = loadTemplates(TEMPLATE_DIR);
/** Its newest version. */
export const templateNamed = (name: string): TemplateVersion => {
  const found = shipped.findLast((template) => template.name === name);
  if (!found) throw new Error(`no template ${name}`);
  return found;
};

export const ticketVariables = {
  category: 'payment_lockout', queue: 'payments-urgent', region: 'US', locale: 'en-US', player_ref: 'p-1001', message: 'locked out',
  received_at: '2026-11-29T10:00:00.000Z', ticket_url: `http://127.0.0.1:3001/tickets/${EVENT_ID}`,
};

/** The input for a shipped template, as the planner would give it. */
export const inputFor = (name: string, variables: Record<string, string> = {}, rest: Partial<RenderInput> = {}): RenderInput => {
  const template = templateNamed(name);
  return {
    template,
    channel: template.channel,
    locale: 'en',
    variables: { ...ticketVariables, ...variables },
    to: template.channel === 'sms' ? '+12025550103' : 'oncall-03@example.com',
    sender: { sms: '+12025550100', email: 'Tocsin <notices@example.com>' },
    attemptKey: `${EVENT_ID}.${template.channel}.1`,
    plannedAt: Date.UTC(2026, 10, 29, 10, 0, 0, 123),
    requestedAt: Date.UTC(2026, 10, 29, 9, 59, 0),
    ...rest,
  };
};
