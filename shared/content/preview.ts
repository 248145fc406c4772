import { renderTexts } from './render-attempt.ts';
import { smsSize } from './segments.ts';
import { givesUnsubscribe, resolveLocale, UNSUBSCRIBE_VARIABLE } from './template.ts';
import type { Part, TemplateVersion } from './template.ts';

/** A message as its reader would see it, from sample values; nothing is sent and nothing kept. */
export type Preview =
  | { ok: true; locale: string; texts: Partial<Record<Part, string>>; sms: { segments: number; encoding: string; characters: number } | null; /** Variables that were not given and got a sample. */ sampled: string[] }
  | { ok: false; problem: string };

/** An attempt key of no notification; `ref` is made of it. */
const SAMPLE_EVENT = 'evt_00000000000000000000SAMP1E';

const sampleOf = (name: string, rule: TemplateVersion['variables'][string]): string =>
  (rule.type === 'url' ? `https://example.com/${name}` : name.replaceAll('_', ' ')).slice(0, rule.max);

/** A value for every variable that a template declares, told apart by its name. */
export const sampleVariables = ({ variables }: Pick<TemplateVersion, 'variables'>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, rule]) => [name, sampleOf(name, rule)]));

/** Renders a template version in a locale; a variable that is not given gets a sample. */
export const previewTemplate = (template: TemplateVersion, { locale, variables }: { locale: string; variables: Readonly<Record<string, string>> }): Preview => {
  const rendered = renderTexts({ template, locale, variables: { ...(givesUnsubscribe(template) ? { [UNSUBSCRIBE_VARIABLE]: 'https://example.com/unsubscribe/sample' } : {}), ...sampleVariables(template), ...variables }, attemptKey: `${SAMPLE_EVENT}.${template.channel}.1` });
  if (!rendered.ok) return rendered;
  const { sms } = rendered.texts;
  return {
    ok: true, locale: resolveLocale(template, locale), texts: rendered.texts, sms: sms === undefined ? null : { ...smsSize(sms), characters: [...sms].length },
    sampled: Object.keys(template.variables).filter((name) => !Object.hasOwn(variables, name)),
  };
};
