import { isBlank } from '../../shared/config/reason-text.ts';
import { LiquidError, compilePart } from '../../shared/content/liquid.ts';
import { onceEach } from '../../shared/content/once-each.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Fault } from './problem.ts';
import { faultyFields } from './problem.ts';

/** What a template's texts make of its variables: which stand in a subject as they are, and which may be empty, since a text asks whether they are. */
interface Uses { subject: ReadonlySet<string>; asked: (name: string) => boolean }

const STRIPPED = /\{\{[^}]*\|\s*strip_newlines\b[^}]*\}\}/g;

/** Variables that a subject shows as they are. What cannot be parsed shows none: that it makes no message is the renderer's to tell. */
const shownBy = (subject: string): string[] => {
  try {
    return compilePart('subject', subject.replace(STRIPPED, '')).reads.map(({ name }) => name);
  } catch (error) {
    if (error instanceof LiquidError) return [];
    throw error;
  }
};

/** To parse a version's subjects for each request would cost. */
const usesOf = onceEach((template: TemplateVersion): Uses => {
  const parts = Object.values(template.locales);
  const subject = new Set(parts.flatMap((one) => shownBy(one.subject ?? '')));
  const conditions = parts.flatMap((one) => Object.values(one)).flatMap((source) => source.match(/\{%-?\s*(?:if|elsif|unless|case)\b[^%]*%\}|\w+\s*\|\s*default\b/g) ?? []).join('\n');
  return { subject, asked: (name) => new RegExp(`\\b${name}\\b`).test(conditions) };
});

/** Line ends as texts and forms have them, and tabs, are no control characters here. */
const CONTROL = /\p{Cc}/u;
const withoutLines = (text: string): string => text.replace(/\r?\n|\t/g, '');

const faultOf = (name: string, text: string, templates: readonly TemplateVersion[]): Omit<Fault, 'field'> | null => {
  const [hasControls, hasNothing] = [CONTROL.test(text), isBlank(text)];
  if (!hasControls && !hasNothing) return null;
  if (hasControls && CONTROL.test(withoutLines(text))) return { problem: 'has a control character', cure: 'take out all but line breaks and tabs' };
  const uses = templates.filter(({ variables }) => Object.hasOwn(variables, name)).map(usesOf);
  if (uses.some(({ subject }) => subject.has(name)) && /[\r\n]/.test(text)) return { problem: 'has a line break, and stands in the subject of an email', cure: 'write it on one line' };
  if (hasNothing && uses.some(({ asked }) => !asked(name))) return { problem: 'is blank', cure: 'give it a text: the template shows it' };
  return null;
};

/**
 * Refuses variables whose text no message should hold: control characters, which some programs obey; a line break in a subject; and nothing at all where
 * a text would have a gap. At acceptance alone, like links: what was accepted once is rendered as it was.
 * @throws Problem 422 naming the variables, never a text.
 */
export const refuseTexts = async (engine: Engine, fields: NotificationFields, key: { tenant: string; idempotencyKey: string }): Promise<void> => {
  const bound = await engine.versions.active(fields.purpose);
  if (!bound) return;
  const templates = [...bound.templates.values()];
  const faults = Object.entries(fields.variables).flatMap(([name, text]) => {
    const fault = faultOf(name, text, templates);
    return fault ? [{ field: `variables.${name}`, ...fault }] : [];
  });
  if (faults.length > 0) await refuseUnlessAccepted(engine, key, faultyFields(faults, 'invalid_variable', 422));
};
