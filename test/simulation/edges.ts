import { readFileSync } from 'node:fs';
import type { NotificationState } from '../../shared/domain/state.ts';

/** The edges of the state diagram that one entry walked. */
export const walkedEdges = (before: NotificationState, after: NotificationState): string[] => after.attempts.flatMap((attempt, index) => {
  const was = before.attempts[index];
  if (was === attempt) return [];
  const edge = was?.state === attempt.state ? [] : [`${was?.state ?? '[*]'}->${attempt.state}`];
  return attempt.settledAt !== null && (was?.settledAt ?? null) === null ? [...edge, `${attempt.state}->[*]`] : edge;
});

/** The edges that the state diagram draws. */
export const drawnEdges = (): string[] =>
  [...readFileSync(new URL('../../shared/domain/README.md', import.meta.url), 'utf8').matchAll(/^\s*(\S+) --> (\w+|\[\*\])/gm)].map(([, from, to]) => `${from}->${to}`);
