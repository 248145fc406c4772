import { isWithin, isWithinVersion } from '../../shared/content/lint.ts';
import type { Linted } from '../../shared/content/lint.ts';
import { isError } from '../../shared/content/yaml-file.ts';
import type { FileProblem } from '../../shared/content/yaml-file.ts';
import { publishedVersions } from '../../shared/delivery/activate-policy.ts';
import type { Command, Input } from './command.ts';
import { foldersOf, lintFolders, openablePath, problemsOf } from './content-folders.ts';
import type { Folders } from './content-folders.ts';
import type { Io } from './io.ts';
import { readIfThere } from './optional-database.ts';

const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;

/** What is wrong, and after the first semicolon what to do about it. */
const cut = (problem: string): { problem: string; cure: string } => {
  const at = problem.indexOf('; ');
  return at < 0 ? { problem, cure: problem } : { problem: problem.slice(0, at), cure: problem.slice(at + 2) };
};

export const findingJson = (one: FileProblem, folders: Folders) => ({
  level: one.level ?? 'error', code: one.code, file: openablePath(one, folders), line: one.line, column: one.column, field: one.field, ...cut(one.problem),
});

/** A fault as compilers write them, which editors can follow. */
export const findingLine = (one: FileProblem, folders: Folders): string =>
  `${openablePath(one, folders)}:${one.line}:${one.column}: ${one.level ?? 'error'}: ${one.field === '' ? '' : `${one.field} `}${one.problem}`;

/** Those that a command is asked about: the folder's own, and those of the templates that its policies name. */
const concerned = (kind: 'policies' | 'templates', linted: Linted, folders: Folders, problems: readonly FileProblem[]): FileProblem[] => (kind === 'templates'
  ? problems.filter((one) => isWithin(one, folders.templateDir))
  : problems.filter((one) => isWithin(one, folders.policyDir) || linted.policies.some(({ policy }) => policy.steps.some((step) => isWithinVersion(one, step.template, step.templateVersion)))));

const lint = async (kind: 'policies' | 'templates', input: Input, io: Io): Promise<number> => {
  const folders = foldersOf(input, io, kind);
  const linted = lintFolders(folders, io);
  const published = await readIfThere(io, publishedVersions);
  const problems = concerned(kind, linted, folders, problemsOf(linted, published));
  const errors = problems.filter(isError).length;
  const warnings = problems.length - errors;
  if (input.json) io.out.write(`${JSON.stringify({ errors, warnings, compared_with_database: published.missing === null, findings: problems.map((one) => findingJson(one, folders)) })}\n`);
  else {
    for (const one of problems) io.out.write(`${findingLine(one, folders)}\n`);
    const looked = kind === 'policies' ? count(linted.policies.length, 'policy version') : count(linted.templates.length, 'template version');
    io.out.write(`${problems.length === 0 ? 'Nothing to object to' : `${count(errors, 'error')}, ${count(warnings, 'warning')}`}; ${looked} could be read.\n`);
    if (published.missing !== null) io.out.write(`Not looked at: whether a published version was changed, since ${published.missing}.\n`);
  }
  return errors > 0 ? 1 : 0;
};

const DIR = { name: 'DIR', help: 'the folder, or one that holds policies and templates (default: what the deployment uses)', optional: true };

export const policyLintCommand: Command = {
  name: 'policy lint',
  summary: 'find every mistake in policies, roster and senders, and where policies and templates do not fit',
  args: [DIR],
  options: { templates: { value: 'DIR', help: 'the templates that the policies name (default: beside the policies, else what the deployment uses)' } },
  examples: [
    ['policy lint', 'the deployment\'s own; with a database also whether a published version was changed'],
    ['policy lint ./policies --templates ./templates', 'two folders; needs no database'],
    ['policy lint ./policies --json', 'level, code, file, line, problem and cure of each, for programs'],
  ],
  run: (input, io) => lint('policies', input, io),
};

export const templateLintCommand: Command = {
  name: 'template lint',
  summary: 'find every mistake in templates, alone and together with the policies that use them',
  args: [DIR],
  options: { policies: { value: 'DIR', help: 'the policies that use the templates (default: beside the templates, else what the deployment uses)' } },
  examples: [
    ['template lint', 'the deployment\'s own'],
    ['template lint ./templates', 'one folder; needs no database'],
  ],
  run: (input, io) => lint('templates', input, io),
};
