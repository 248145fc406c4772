import { definitionHash } from '../security/definition-hash.ts';
import type { Linted } from './lint.ts';
import type { FileProblem } from './yaml-file.ts';

/** A version as a database has it. `activatedAt`: when a policy was last activated, in milliseconds; null for one that never was, and for templates. */
export interface PublishedVersion { kind: 'policy' | 'template'; name: string; version: number; hash: string; activatedAt: number | null }

const told = (one: PublishedVersion): string =>
  `was ${one.activatedAt === null ? 'published' : `activated on ${new Date(one.activatedAt).toISOString().slice(0, 10)}`} with another content, and a published version never changes; restore version ${one.version}, and give the changed file the next number`;

/** Files whose version was published with another content. */
export const checkPublished = ({ policies, templates }: Pick<Linted, 'policies' | 'templates'>, published: readonly PublishedVersion[]): FileProblem[] => {
  const changed = (kind: PublishedVersion['kind'], one: { name: string; version: number; definition: unknown }): PublishedVersion | undefined => {
    const stored = published.find((row) => row.kind === kind && row.name === one.name && row.version === one.version);
    return stored && stored.hash !== definitionHash(one.definition) ? stored : undefined;
  };
  return [
    ...policies.flatMap(({ policy, at }) => {
      const stored = changed('policy', { name: policy.purpose, version: policy.version, definition: policy });
      return stored ? [at([], told(stored), 'version_changed')] : [];
    }),
    ...templates.flatMap(({ template, at }) => {
      const stored = changed('template', { name: template.name, version: template.version, definition: template });
      return stored ? [at([], told(stored), 'version_changed')] : [];
    }),
  ];
};
