import { isWithinVersion, lintContent } from '../content/lint.ts';
import type { LintInput } from '../content/lint.ts';
import { isError, textOf } from '../content/yaml-file.ts';

/**
 * A policy version of the folder that must not be taken up by itself, and why, a fault a line. `tell`: it is the newest of its purpose,
 * so that somebody expects it to be taken up.
 */
export interface UnfitVersion { purpose: string; version: number; why: string; tell: boolean }

/**
 * The versions of a folder that do not fit their templates, senders or transports. One that was taken up all the same would have every
 * notification of its purpose fail; without it, the version before goes on. What a file shows by itself stops the start, so it is not told here.
 */
export const unfitVersions = (folders: LintInput): UnfitVersion[] => {
  const { problems, policies } = lintContent(folders);
  const errors = problems.filter(isError);
  return policies.flatMap(({ policy: { purpose, version, steps } }) => {
    const found = errors.filter((one) => isWithinVersion(one, purpose, version) || steps.some((step) => isWithinVersion(one, step.template, step.templateVersion)));
    const tell = !policies.some(({ policy }) => policy.purpose === purpose && policy.version > version);
    return found.length === 0 ? [] : [{ purpose, version, why: found.map(textOf).join('\n'), tell }];
  });
};
