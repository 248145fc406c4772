import { onceEach } from '../../shared/content/once-each.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { BoundVersions } from '../../shared/delivery/versions.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import { madeHere } from './artifact-references.ts';
import type { NotificationFields } from './notification-fields.ts';
import { faultyFields } from './problem.ts';

/** What every caller may give, whether a template shows it or not: it has a field of its own in the request. */
const SHARED = ['subject'];

const declaredIn = onceEach((bound: BoundVersions): ReadonlySet<string> => new Set([...SHARED, ...[...bound.templates.values()].flatMap((template) => Object.keys(template.variables))]));

/**
 * Refuses variables that no template of the purpose's steps declares: a misspelt optional name would otherwise be a message that
 * silently lacks something. Every step counts, since a caller cannot know which of them will be used. What was accepted once
 * under the key stays accepted, also where the templates have changed since.
 * @throws Problem 422 naming them. An unknown purpose passes: it is told as what it is.
 */
export const refuseUndeclared = async (engine: Engine, fields: NotificationFields, key: { tenant: string; idempotencyKey: string }): Promise<void> => {
  const bound = await engine.versions.active(fields.purpose);
  if (!bound) return;
  const known = declaredIn(bound);
  const undeclared = Object.keys(fields.variables).filter((name) => !known.has(name));
  if (undeclared.length === 0) return;
  const not = new Set([...SHARED, ...madeHere(bound)]);
  const open = [...known].filter((name) => !not.has(name));
  const cure = open.length === 0 ? 'remove it: this purpose takes none' : `remove it, or use one of ${open.join(', ')}`;
  await refuseUnlessAccepted(engine, key, faultyFields(undeclared.map((name) => ({ field: `variables.${name}`, problem: 'is declared by no template of this purpose', cure })), 'unknown_variable', 422));
};
